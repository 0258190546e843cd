#!/usr/bin/env bash
# At the first start it creates a database cluster, a user and a database. Then it runs
# the server. As root it first gives the data to the user postgres.
set -euo pipefail

# given NAME [DEFAULT] prints the content of the file NAME_FILE, else the variable's value.
given() {
	local file=${1}_FILE
	if [[ -n ${!file:-} ]]; then
		cat "${!file}"
	else
		printf %s "${!1:-${2:-}}"
	fi
}

# Only the server runs as postgres; other commands run as they are.
[[ ${1:-} == postgres ]] || exec "$@"
if ((EUID == 0)); then
	mkdir -p "$PGDATA"
	chown -R postgres: "$PGDATA"
	chmod 700 "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [[ ! -s $PGDATA/PG_VERSION ]]; then
	password=$(given POSTGRES_PASSWORD)
	user=$(given POSTGRES_USER postgres)
	database=$(given POSTGRES_DB "$user")
	[[ -n $password ]] || {
		echo 'POSTGRES_PASSWORD is not set' >&2
		exit 1
	}
	initdb --username="$user" --pwfile=<(printf '%s\n' "$password") --auth-local=trust --auth-host=scram-sha-256 >/dev/null
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
	pg_ctl -w start -o "-c listen_addresses=''" >/dev/null
	[[ $database == postgres ]] || createdb -U "$user" -T template0 -- "$database"
	pg_ctl -w -m fast stop >/dev/null
fi
exec "$@"
