"""PostgreSQL and Valkey for one machine, and the supervisor of `make run`."""
