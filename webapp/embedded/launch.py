"""Runs one command that ends when we end, and that is never root: started as a script, with no other module.

    python -I -S launch.py PARENT DEATH_SIGNAL MODE UID COMMAND...

PostgreSQL refuses to run as root, and as another user it could not enter a root-owned folder that is closed
to others. So root starts it in one of two ways, and no folder needs opening:

- `namespace`: a user namespace where UID stands for us. The kernel still sees the owner of our files.
- `account`: as UID itself, keeping only the right to read and write whatever files there are.

`plain` changes nothing. Exits with 97 and a sentence where MODE is not possible here.
"""

import ctypes
import os
import sys

NOT_POSSIBLE = 97
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522


def main(arguments: list[str]) -> None:
    """Become the command."""
    parent, death_signal, mode, uid, command = (
        int(arguments[0]),
        int(arguments[1]),
        arguments[2],
        int(arguments[3]),
        arguments[4:],
    )
    try:
        if mode == "namespace":
            namespace_enter(uid)
        elif mode == "account":
            account_become(uid)
        if sys.platform == "linux":
            # After the change of user, which clears it. Where it is missing the next start cleans up.
            _checked(_libc().prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0))
    except OSError as error:
        print(f"the mode {mode} is not possible here: {error}", file=sys.stderr)
        sys.exit(NOT_POSSIBLE)
    if os.getppid() != parent:
        sys.exit("the process that asked for this command has ended")
    os.execvp(command[0], command)  # noqa: S606 - a command line of our own, without a shell


def namespace_enter(uid: int) -> None:
    """A user namespace where `uid` stands for the user we are."""
    outside = os.geteuid()
    _checked(_libc().unshare(CLONE_NEWUSER))
    with open("/proc/self/uid_map", "w") as file:  # noqa: PTH123 - pathlib costs a start more than it is worth
        file.write(f"{uid} {outside} 1")


def account_become(uid: int) -> None:
    """The user `uid`, with the right to pass by file permissions and no other."""
    libc = _libc()
    _checked(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    mask = 1 << CAP_DAC_OVERRIDE
    # Effective, permitted and inheritable; the second three hold capabilities from number 32 on.
    _checked(libc.capset(header, (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)))
    _checked(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1:])
