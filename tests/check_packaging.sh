#!/bin/sh
# The recipes of packaging/ parse, and use existing options of the command.
set -eu
cd "$STRADS_SOURCE/packaging"

/usr/bin/python3 - <<'END'
import yaml

parts = list(yaml.safe_load_all(open("kubernetes-job.yaml")))
assert [part["kind"] for part in parts] == ["Service", "Secret", "Job"], parts
job = parts[2]["spec"]
pod = job["template"]["spec"]
container = pod["containers"][0]
env = {item["name"]: item.get("value") for item in container["env"]}
assert int(env["STRADS_SIZE"]) == job["completions"] == job["parallelism"]
# strads-0 is the host of pod 0 of a Job with that name, in the pods' subdomain
assert env["STRADS_COORDINATOR"].split(":")[0] == \
    f"{parts[2]['metadata']['name']}-0.{pod['subdomain']}"
assert "STRADS_TOKEN" in env
END
if command -v systemd-analyze >/dev/null; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    sed "s|/usr/bin/strads|$STRADS_BIN|" strads@.service \
        >"$scratch/strads@test.service"
    systemd-analyze verify --man=no "$scratch/strads@test.service" 2>&1 |
        grep -i 'strads@test' && exit 1
fi
# A Containerfile's instructions, and each package in Debian's build
# dependencies
grep -qE '^FROM .* AS build$' Containerfile
sed -n 's/^Build-Depends: *//p; /^Build-Depends/,/^$/s/^ \+//p' \
    ../debian/control | tr -d ',' | sed 's/ (.*//' | while read -r name; do
    case $name in '' | debhelper-compat*) continue ;; esac
    grep -q "\b$name\b" Containerfile || {
        echo "Containerfile: does not install $name, which debian/control wants"
        exit 1
    }
done
"$STRADS_BIN" lasso train --help | grep -q -- '--model'
