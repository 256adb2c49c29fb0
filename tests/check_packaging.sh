#!/bin/sh
# The recipes of packaging/ parse, and use existing options of the command.
set -eu
cd "$STRADS_SOURCE/packaging"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
/usr/bin/python3 - "$scratch/token" <<'END'
import json, re, sys, yaml

parts = list(yaml.safe_load_all(open("kubernetes-job.yaml")))
assert [part["kind"] for part in parts] == \
    ["Service", "Secret", "PersistentVolumeClaim", "Job"], parts
job = parts[3]["spec"]
pod = job["template"]["spec"]
container = pod["containers"][0]
env = {item["name"]: item.get("value") for item in container["env"]}
assert int(env["STRADS_SIZE"]) == job["completions"] == job["parallelism"]
# strads-0 is the host of pod 0 of a Job with that name, in the pods' subdomain
assert env["STRADS_COORDINATOR"].split(":")[0] == \
    f"{parts[3]['metadata']['name']}-0.{pod['subdomain']}"
assert "STRADS_TOKEN" in env
claim = pod["volumes"][0]["persistentVolumeClaim"]["claimName"]
assert claim == parts[2]["metadata"]["name"], claim
assert pod["securityContext"]["runAsNonRoot"] is True
assert pod["securityContext"]["runAsUser"] == 65534  # nobody
token = parts[1]["stringData"]["token"]
open(sys.argv[1], "w").write(token)

# The ingress leads to the port and the path on which the Job listens.
secret, job, service, ingress = yaml.safe_load_all(
    open("kubernetes-ingress.yaml"))
container = job["spec"]["template"]["spec"]["containers"][0]
labels = job["spec"]["template"]["metadata"]["labels"]
args = container["args"]
port, path = re.fullmatch(r"ws://0\.0\.0\.0:(\d+)(/\S+)",
                          args[args.index("--listen") + 1]).groups()
assert service["spec"]["selector"].items() <= labels.items()
assert service["spec"]["ports"][0]["targetPort"] == int(port) == \
    container["ports"][0]["containerPort"]
rule = ingress["spec"]["rules"][0]
way = rule["http"]["paths"][0]
assert way["path"] == path and rule["host"] in ingress["spec"]["tls"][0]["hosts"]
assert way["backend"]["service"] == {
    "name": service["metadata"]["name"],
    "port": {"number": service["spec"]["ports"][0]["port"]}}
assert container["env"][0]["valueFrom"]["secretKeyRef"]["name"] == \
    secret["metadata"]["name"]
assert secret["stringData"]["token"] == token

# The dashboard and the alerts use metrics that the page serves.
served = set(re.findall(r'"(strads_[a-z_]+)', open(
    "../apps/cli/cli_watch.c").read()))
alerts = yaml.safe_load(open("prometheus-alerts.yaml"))
board = json.load(open("grafana-dashboard.json"))
rules = [rule for group in alerts["groups"] for rule in group["rules"]]
assert rules and all(set(r) >= {"alert", "expr", "annotations"} for r in rules)
used = [r["expr"] for r in rules] + [t["expr"] for panel in board["panels"]
                                     for t in panel["targets"]]
for expression in used:
    names = set(re.findall(r"strads_[a-z_]+", expression))
    assert names and names <= served, (expression, names - served)
places = [p["gridPos"] for p in board["panels"]]
assert len({(p["x"], p["y"]) for p in places}) == len(places)
END
if command -v promtool >/dev/null; then
    promtool check rules prometheus-alerts.yaml
fi
# The token of the recipe is refused.
chmod 600 "$scratch/token"
code=0
"$STRADS_BIN" lasso train ../data/sotu-tiny-year.train.svm --nodes 2 \
    --listen tcp://127.0.0.1:0 --token-file "$scratch/token" \
    2>"$scratch/err" || code=$?
[ "$code" -eq 2 ] && grep -q "the placeholder of a recipe" "$scratch/err" || {
    cat "$scratch/err"
    echo "the recipe's token is not refused ($code)"
    exit 1
}
if command -v systemd-analyze >/dev/null; then
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
