#!/usr/bin/env bash
# Writes requirements.txt and requirements-dev.txt from the .in files beside them, every package pinned.
# A pin must hold on every machine: no local build tag (torch's +cpu), and none of the CUDA packages, which
# torch itself pins where it needs them.
set -euo pipefail
cd "$(dirname "$0")/.."

compile() {
    .venv/bin/pip-compile --quiet --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
        --no-emit-options --no-annotate --strip-extras --allow-unsafe --output-file "$2.new" "$1"
    {
        echo "# Made by \`make lock\` from $1. Do not edit."
        grep '==' "$2.new" | grep -Ev '^(nvidia-|triton|cuda-|pip=)' | sed -E 's/\+[a-z0-9.]+$//'
    } > "$2"
    rm "$2.new"
}

compile requirements.in requirements.txt
compile requirements-dev.in requirements-dev.txt
