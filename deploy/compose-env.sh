#!/bin/sh
# Makes .env for compose.yaml from compose.env.example, with a random secret for
# each key. A second run only fills in keys that are still empty.
#
#	./compose-env.sh [IMAGE]    such as stream-monitor:1.2.0
set -eu
cd "$(dirname "$0")"
umask 077

[ -f .env ] || sed "s/^GATEWAY_CPUS=.*/GATEWAY_CPUS=$(nproc 2>/dev/null || echo 1)/" compose.env.example >.env
if [ $# -gt 0 ]; then
	sed "s|^IMAGE=.*|IMAGE=$1|" .env >.env.new && mv .env.new .env
fi
for name in API_KEY INTERNAL_API_KEY WEBHOOK_SIGNING_KEY EVIDENCE_LINK_KEY SECRETS_KEY POSTGRES_PASSWORD; do
	grep -q "^$name=." .env && continue
	secret=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
	sed "/^$name=/d" .env >.env.new && mv .env.new .env
	echo "$name=$secret" >>.env
done
grep -q '^IMAGE=.' .env || echo "compose-env: set IMAGE in $PWD/.env (make image prints its name)" >&2
echo "compose-env: the keys are in $PWD/.env" >&2
