#!/bin/sh
# The page of --http: contents, refused clients, limits, stopping.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

page_of() { # NAME: the address of its page, as printed
    until_there "watch this run at " "$1.err"
    sed -n 's/.*watch this run at //p' "$1.err"
}
far="lasso train --no-intercept $year_train --partitions 2 $endless"

# shellcheck disable=SC2086 # words
start far $far --http 127.0.0.1:0 --model far.json --log far.jsonl
page=$(page_of far)
until_there '"event": "round"' far.jsonl
python3 - "$page" far.jsonl <<'END' || { fail "the page of a run"; kill -TERM "$child"; }
import http.client, json, socket, sys, time, urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
host, port, token = url.hostname, url.port, url.fragment
assert len(token) == 32, sys.argv[1]


def ask(method, path, headers=None, body=None):
    c = http.client.HTTPConnection(host, port, timeout=20)
    c.request(method, path, body=body, headers=headers or {})
    r = c.getresponse()
    return r.status, dict(r.getheaders()), r.read()


def is_(got, want, what):
    assert got == want, f"{what}: {got}, expected {want}"


def raw(text):
    s = socket.create_connection((host, port), timeout=20)
    s.sendall(text)
    got = b""
    while True:
        part = s.recv(65536)
        if not part:
            return got
        got += part


# Contents.
status, head, page = ask("GET", "/")
is_(status, 200, "/")
assert b"EventSource" in page and b"</html>" in page
assert b"//" not in page.replace(b"http://www.w3.org/2000/svg", b"").replace(
    b'"//', b"") or b"src=" not in page
assert "default-src 'none'" in head["Content-Security-Policy"], head
is_(head["Cache-Control"], "no-store", "Cache-Control")
status, head, empty = ask("HEAD", "/")
is_((status, empty), (200, b""), "HEAD")
is_(int(head["Content-Length"]), len(page), "HEAD's length")

events = [json.loads(l) for l in ask("GET", "/events")[2].splitlines()]
is_(events[0]["event"], "start", "the first event")
is_(events[0]["program"], "lasso", "its program")
assert any(e["event"] == "round" for e in events)
last = events[-1]
is_(len(last["worker_computing"]), len(last["worker_waiting"]), "workers")
assert sum(last["worker_computing"]) > 0
assert abs(sum(last["worker_computing"]) - last["callback_seconds"]) < 1e-3

status, head, text = ask("GET", "/metrics")
is_(head["Content-Type"], "text/plain; version=0.0.4; charset=utf-8", "type")
figures = {}
for line in text.decode().splitlines():
    if not line.startswith("#"):
        name, value = line.rsplit(" ", 1)
        assert name.startswith("strads_"), line
        figures[name] = float(value)
assert figures["strads_rounds_total"] > 0 and figures["strads_objective"] > 0
assert figures['strads_worker_seconds_total{worker="0",state="computing"}'] > 0

# A stream continues.
c = http.client.HTTPConnection(host, port, timeout=20)
c.request("GET", "/stream")
stream = c.getresponse()
is_(stream.getheader("Content-Type"), "text/event-stream", "the stream")
rounds = []
while len(rounds) < 5 or rounds[-1] <= last["round"]:
    line = stream.readline()
    if line.startswith(b"data: "):
        event = json.loads(line[6:])
        if event["event"] == "round":
            rounds.append(event["round"])
assert rounds == sorted(rounds)

# Refused clients.
for bad in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example",
            "127evil.example", "[::1].evil.example", "", "@127.0.0.1"):
    is_(ask("GET", "/events", {"Host": bad})[0], 403, f"Host {bad!r}")
is_(ask("GET", "/", {"Host": f"localhost:{port}"})[0], 200, "Host localhost")
is_(ask("GET", "/", {"Host": "127.0.0.1:9"})[0], 200, "a forwarded port")
here = f"http://127.0.0.1:{port}"
for bad in ("http://evil.example", "null", "https" + here[4:], here + "0"):
    is_(ask("GET", "/stream", {"Origin": bad})[0], 403, f"Origin {bad}")
is_(ask("GET", "/", {"Origin": here})[0], 200, "its own Origin")
for bad in ({}, {"Authorization": "Bearer "}, {"Authorization": token},
            {"Authorization": "Bearer x" + token[1:]},
            {"Authorization": "Bearer " + token + token},
            {"Authorization": "Bearer " + token[:31]}):
    is_(ask("POST", "/stop", bad)[0], 401, f"stop with {bad}")
good = {"Authorization": "Bearer " + token}
is_(ask("POST", "/stop", dict(good, Origin="http://evil.example"))[0], 403,
    "stop by another site")
is_(ask("GET", "/stop", good)[0], 405, "GET /stop")
is_(ask("POST", "/", good)[0], 405, "POST /")
for path in ("/nothing", "/../etc/passwd", "/%2e%2e/etc/passwd", "//"):
    is_(ask("GET", path)[0], 404, path)

# Limits for foreign clients.
assert raw(b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")
assert raw(b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400")
assert raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: a\r\n\r\n").startswith(
    b"HTTP/1.1 400")
assert raw(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 2000)[:12] == b"HTTP/1.1 431"
is_(ask("POST", "/stop", good, b"x" * 9000)[0], 413, "a long body")
assert raw(b"POST /stop HTTP/1.1\r\nHost: localhost\r\n"
           b"Transfer-Encoding: chunked\r\n\r\n").startswith(b"HTTP/1.1 400")

# Clients do not block others, whether they are silent, watch or never read
# their reply; a client with the token can still stop the run.
events = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
many = []
for said in (b"", b"POST /stop HTTP/1.1\r\n", events % b"stream",
             events % b"events"):
    for _ in range(40):
        s = socket.create_connection((host, port), timeout=20)
        s.sendall(said)
        many.append(s)
    is_(ask("GET", "/")[0], 200, f"a fresh reader beside 40 that said {said}")

# Eight clients of one address watch; further connections are closed.
watching = []
for _ in range(20):
    s = socket.create_connection((host, port), timeout=20)
    s.sendall(events % b"stream")
    assert s.recv(12) == b"HTTP/1.1 200"
    watching.append(s)


def is_open(s):
    s.settimeout(0.2)
    until = time.monotonic() + 2
    try:
        while time.monotonic() < until:
            if not s.recv(1 << 20):
                return False
    except TimeoutError:
        pass
    except ConnectionResetError:
        return False
    return True


is_([is_open(s) for s in watching], [False] * 12 + [True] * 8, "who watches")
c = http.client.HTTPConnection(host, port, timeout=20)
c.request("GET", "/stream")
stream = c.getresponse()
silent = [socket.create_connection((host, port), timeout=20) for _ in range(7)]

# With the token.
is_(ask("POST", "/stop", good, b"x" * 100)[0], 202, "stop")
while True:
    line = stream.readline()
    assert line, "the stream ended without the run's end"
    if line.startswith(b"data: ") and json.loads(line[6:])["event"] == "end":
        break
END
ends far "$child" 130
says far.err "as the page asks" "interrupted" "the model is in far.json"

# The run's own token is not printed and does not stop the run: the page has a
# separate token
echo 0123456789abcdef-token >token
chmod 600 token
# shellcheck disable=SC2086 # words
start own $far --http localhost:0 --token-file token
page=$(page_of own)
case $page in
*0123456789abcdef-token*) fail "the run's token is printed: $page" ;;
esac
python3 - "$page" <<'END' || { fail "stopping with the page's token"; kill -TERM "$child"; }
import sys, urllib.error, urllib.request
page, token = sys.argv[1].split("#")
def stop(said):
    r = urllib.request.Request(page + "stop", method="POST", headers={
        "Authorization": "Bearer " + said})
    try:
        return urllib.request.urlopen(r, timeout=20).status
    except urllib.error.HTTPError as e:
        return e.code
assert stop("0123456789abcdef-token") == 401
assert stop(token) == 202
END
ends own "$child" 130

# A loop's partitions have clocks.
start loop sgd-logistic train --no-intercept "$party" --partitions 2 --epochs 1000000 \
    --http 127.0.0.1:0 --log loop.jsonl
page=$(page_of loop)
until_there '"event": "round"' loop.jsonl
says loop.jsonl '"worker_clock": [' '"worker_network": ['
kill -TERM "$child"
ends loop "$child" 130

# Of many events it keeps some, evenly spaced, including the first and the
# last.
mkfifo hold
"$STRADS_BUILD/tests/watch_feed" "$STRADS_SOURCE/apps/cli/page.html" 100000 \
    <hold >feed 2>feed.err &
exec 3>hold
until_there "http://" feed
python3 - "$(cat feed)" <<'END' || fail "a long history"
import json, sys, urllib.request
page = sys.argv[1].split("#")[0]
events = [json.loads(l) for l in urllib.request.urlopen(page + "events")]
assert events[0]["event"] == "start" and 1000 < len(events) <= 2048, len(events)
rounds = [e["round"] for e in events[1:]]
assert rounds[-1] == 100000
apart = {b - a for a, b in zip(rounds[:-2], rounds[1:])}
assert len(apart) == 1 and rounds[0] in apart, apart
END
exec 3>&-

# strads watch: the page of a finished log, of a growing one, and of a folder
gives 0 lasso train --no-intercept "$year_train" --log past.jsonl
mkdir logs
cp past.jsonl logs/b.jsonl
sed '/"event": "end"/d' past.jsonl >logs/a.jsonl
echo '{"event": "other"}' >logs/c.jsonl
echo secret >logs/secret.txt
start log watch past.jsonl
watcher=$child
start folder watch logs
until_there "http://" log.err
until_there "http://" folder.err
sed 's/.*\(http[^ ]*\).*/\1/' log.err folder.err >pages
python3 - $(cat pages) past.jsonl <<'END' || fail "strads watch"
import json, sys, time, urllib.error, urllib.request

log, folder, path = sys.argv[1:4]


def ask(url, **more):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **more), timeout=20) as r:
            return r.status, r.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def events():
    return [json.loads(l) for l in ask(log + "events")[1].splitlines()]


# The lines of the log; the start is marked, so that the page has no button.
lines = [json.loads(l) for l in open(path)]
got = events()
assert got[0].pop("viewer") is True
assert got == lines, (len(got), len(lines))
assert ask(log)[1] == ask(folder)[1] and b"</html>" in ask(log)[1]
for page in (log, folder):
    assert "#" not in page
    assert ask(page + "stop", method="POST")[0] == 404, "nothing to stop"
assert ask(log + "runs")[0] == 404

# Half a line is not shown; a log that another run overwrites begins again.
with open(path, "a") as f:
    f.write('{"event": "topics", ')
    f.flush()
    time.sleep(0.5)
    assert len(events()) == len(lines)
    f.write('"topics": []}\n')
until = time.monotonic() + 60
while events()[-1]["event"] != "topics":
    assert time.monotonic() < until, "a new line"
    time.sleep(0.05)
with open(path, "w") as f:
    f.write(json.dumps(dict(lines[0], program="second")) + "\n")
while events()[-1].get("program") != "second":
    assert time.monotonic() < until, "a new run"
    time.sleep(0.05)

runs = json.loads(ask(folder + "runs")[1])
assert [r["name"] for r in runs] == ["a.jsonl", "b.jsonl"], runs
first, second = runs
assert "reason" not in first
assert second["reason"] == "converged" and second["gap"] == lines[-1]["gap"]
assert second["objective"] == lines[-1]["objective"]
assert second["options"] == lines[0]["options"]
assert [json.loads(l) for l in ask(f"{folder}runs/{second['id']}")[1].splitlines()] == lines
for bad in ("9", "-1", "x", "", "0x1", "../secret.txt", "%2e%2e/secret.txt",
            "18446744073709551617", "1 ", "2"):
    status, text = ask(folder + "runs/" + urllib.request.quote(bad, safe="/%"))
    assert b"secret\n" not in text and (status == 404 or bad == ""), (bad, status)
assert ask(folder + "runs", headers={"Host": "evil.example"})[0] == 403
END

# Anything may be in a folder: other files, lines that are no events, members of
# other types, and lines of any length, which must not fill the memory.
watched=$child
echo '{"event": "start", "program": 5, "time": {}, "options": "x", "workers": "y"}' \
    >logs/d.jsonl
{
    head -n 1 past.jsonl
    echo 'not {"event": "round"}'
    printf '{"event": "round", \0 "round": 1}\n'
    head -c 200000000 /dev/zero | tr '\0' '{'
    printf '{"event": "end"}\n{"event": "end", "reason": {}, "round": "many"}\n'
} >logs/e.jsonl
mkfifo logs/f.jsonl
mkdir logs/g.jsonl
ln -s /dev/zero logs/h.jsonl
ln -s i.jsonl logs/i.jsonl
truncate -s 200000000 logs/j.jsonl
cp logs/e.jsonl long.jsonl
start long watch long.jsonl
until_there "http://" long.err
python3 - $(sed -n 2p pages) $(sed 's/.*\(http[^ ]*\).*/\1/' long.err) "$watched" "$child" \
    <<'END' || fail "strads watch of other files"
import json, sys, time, urllib.request


def get(url):
    return urllib.request.urlopen(url, timeout=60).read()


folder, log = sys.argv[1:3]
runs = {r["name"]: r for r in json.loads(get(folder + "runs"))}
assert sorted(runs) == ["a.jsonl", "b.jsonl", "d.jsonl", "e.jsonl"], runs
assert sorted(runs["d.jsonl"]) == ["changed", "id", "name"], runs["d.jsonl"]
assert not {"reason", "round"} & set(runs["e.jsonl"]), runs["e.jsonl"]
lines = [json.loads(l) for l in get(f"{folder}runs/{runs['e.jsonl']['id']}").splitlines()]
assert [l["event"] for l in lines] == ["start", "end"], lines
until = time.monotonic() + 60
while [json.loads(l)["event"] for l in get(log + "events").splitlines()] != ["start", "end"]:
    assert time.monotonic() < until, get(log + "events")
    time.sleep(0.05)
for process in sys.argv[3:]:
    with open(f"/proc/{process}/status") as f:
        most = next(int(l.split()[1]) for l in f if l.startswith("VmHWM"))
    assert most < 60000, f"{most} KB"
END
kill -TERM "$child"
ends long "$child" 0
refuses 2 "is not a log" watch logs/f.jsonl
kill -INT "$watched"
ends folder "$watched" 0
kill -TERM "$watcher"
ends log "$watcher" 0
gives 0 watch logs --time-limit 0.1 --quiet
[ ! -s err ] || fail "a quiet watch printed $(cat err)"
refuses 2 "cannot be read" watch none.jsonl
refuses 2 "is not a log" watch logs/secret.txt
refuses 2 "other machines reach this address" watch logs --http 0.0.0.0:0

# Addresses
refuses 2 "is not an address for a page" lasso train "$year_train" --http nowhere/
refuses 2 "give the run a token" lasso train "$year_train" --http 0.0.0.0:0
# shellcheck disable=SC2086 # words
start first $far --http 127.0.0.1:0
page=$(page_of first)
port=${page#http://127.0.0.1:}
refuses 2 "cannot listen there" lasso train "$year_train" \
    --http "127.0.0.1:${port%%/*}" --model none.json
[ ! -e none.json ] || fail "a model of a run that was refused"
kill -TERM "$child"
ends first "$child" 130
finish
