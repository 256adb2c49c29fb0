#!/bin/sh
# Nodes meet through a reverse proxy for HTTP and WebSocket. It is killed for 2 s
# in mid-run: the model has the bits of a run over tcp. So do runs through
# wss://, with certificates, and one that hundreds of idle strangers visit, at a
# descriptor limit that they exceed.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
PATH=$PATH:/usr/sbin
command -v nginx >/dev/null ||
    { echo "NOT CHECKED: runs through a proxy, for want of nginx"; exit 77; }
run join ws://127.0.0.1:1/run --timeout 0.1
! grep -q "nng" err || { echo "NOT CHECKED: $(cat err)"; exit 77; }
says err "at this path"
umask 077
echo "a secret of all nodes" >token

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# proxy PORT TARGET OPTIONS: writes nginx.conf: a proxy on PORT for the node at
# the URL TARGET. start_proxy starts it as $proxy, as often as needed.
proxy() {
    proxy_port=$1
    target=${2#ws://}
    cat >nginx.conf <<END
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path $folder/temp1;
    proxy_temp_path $folder/temp2;
    fastcgi_temp_path $folder/temp3;
    uwsgi_temp_path $folder/temp4;
    scgi_temp_path $folder/temp5;
    server {
        listen 127.0.0.1:$1 $3;
        $4
        location / {
            proxy_pass http://${target%%/*};
            proxy_http_version 1.1;
            proxy_set_header Upgrade \$http_upgrade;
            proxy_set_header Connection "upgrade";
            proxy_set_header Host \$host;
        }
    }
}
END
}
start_proxy() {
    nginx -p "$folder" -c nginx.conf 2>>nginx.err &
    proxy=$!
    children="$children $proxy"
}
stop_proxy() {
    kill -9 "$proxy"
    wait "$proxy" 2>/dev/null || :
}

documents=$STRADS_SOURCE/data/docword.sotu-tiny.txt
sweeps=$([ -z "$STRADS_SANITIZE" ] && echo 600 || echo 100)
lda="lda train $documents --topics 20 --sweeps $sweeps --seed 3 --partitions 3"
# shellcheck disable=SC2086 # words
gives 0 $lda --model whole.model

# Three nodes: 1 and 2 reach node 0 through the proxy, 2 reaches 1 directly.
# shellcheck disable=SC2086 # words
start first $lda --workers 1 --nodes 3 --listen ws://127.0.0.1:0/run/0 \
    --token-file token --log first.jsonl --model proxied.model
first=$child
proxy "$(free_port)" "$(url_of first)" "" ""
through=ws://localhost:$proxy_port/run/0
# The nodes dial until the proxy is there; until then, nothing listens.
start second join "$through" --workers 1 --token-file token --data "$documents" \
    --listen ws://127.0.0.1:0/run/1
second=$child
start_proxy
start third join "$through" --workers 1 --token-file token --data "$documents"
third=$child
until_there '"event": "round"' first.jsonl 20
stop_proxy
sleep 2
rounds=$(grep -c '"event": "round"' first.jsonl)
start_proxy
ends first "$first" 0
ends second "$second" 0
ends third "$third" 0
stop_proxy
cmp -s whole.model.npy proxied.model.npy || fail "through a proxy: other bits"
[ "$(grep -c '"event": "round"' first.jsonl)" -gt "$rounds" ] ||
    fail "the run was over before the proxy returned"
! grep -q "continues from its last checkpoint" first.err ||
    fail "the links were not restored: $(cat first.err)"

# The outer hop by TLS: the proxy's certificate is checked, and the token's TLS
# is inside. A node without the token gets a sentence.
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days 2 -keyout "$1.key" -out "$1.pem" -subj "/CN=localhost" \
        -addext "subjectAltName=DNS:localhost" 2>openssl.err ||
        fail "openssl: $(cat openssl.err)"
}
authority ours
authority theirs
train="lasso train --no-intercept $year_train --lambda-ratio 0.02 \
    --deterministic --partitions 2 --seed 5 --workers 1"
# shellcheck disable=SC2086 # words
gives 0 $train --model one.json
# shellcheck disable=SC2086 # words
start first $train --nodes 2 --listen ws://127.0.0.1:0/run --token-file token \
    --model two.json
first=$child
proxy "$(free_port)" "$(url_of first)" ssl "ssl_certificate $folder/ours.pem;
        ssl_certificate_key $folder/ours.key;"
start_proxy
through=wss://localhost:$proxy_port/run
export SSL_CERT_FILE="$folder/ours.pem"
refuses 2 "has a token" join "$through" --data "$year_train" --insecure \
    --timeout 5
(echo "another secret of nodes" >other)
refuses 2 "another token" join "$through" --data "$year_train" \
    --token-file other
export SSL_CERT_FILE="$folder/theirs.pem"
refuses 2 "not by an authority of this system" join "$through" \
    --data "$year_train" --token-file token
export SSL_CERT_FILE="$folder/ours.pem"
refuses 2 "not for this host" join "wss://127.0.0.1:$proxy_port/run" \
    --data "$year_train" --token-file token
start second join "$through" --token-file token --data "$year_train" --workers 1
second=$child
ends first "$first" 0
ends second "$second" 0
stop_proxy
unset SSL_CERT_FILE
same_bits "through wss" one.json two.json

# Certificates of both ends, inside ws://.
with="--tls-ca ours.pem --tls-cert ours.pem --tls-key ours.key"
# shellcheck disable=SC2086 # words
start first $train --nodes 2 --listen ws://127.0.0.1:0/run $with \
    --model certified.json
first=$child
proxy "$(free_port)" "$(url_of first)" "" ""
start_proxy
# shellcheck disable=SC2086 # words
start second join "ws://localhost:$proxy_port/run" --workers 1 $with \
    --data "$year_train"
second=$child
ends first "$first" 0
ends second "$second" 0
stop_proxy
same_bits "with certificates inside ws" one.json certified.json

# 400 idle strangers, each of which comes again when it is dropped, at 128
# descriptors.
cat >idle.py <<'END'
import selectors, socket, sys, time
port, count = int(sys.argv[1]), 400
request = (b"GET /run HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
           b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
waiting = selectors.DefaultSelector()
came = 0
def come(number):
    global came
    s = socket.socket()
    s.settimeout(5)
    try:
        s.connect(("127.0.0.1", port))
        s.send((b"", b"GET", request)[number % 3] or b"")
        came += 1
        waiting.register(s, selectors.EVENT_READ, number)
        return True
    except OSError:
        s.close()
        return False
for number in range(count):
    come(number)
print("there", flush=True)
there = True
while there:
    time.sleep(0.05)
    for key, _ in waiting.select(0.2):
        try:
            closed = not key.fileobj.recv(4096)
        except OSError:
            closed = True
        if closed:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
            there = come(key.data) and there
print(came, "came")
END
rm -f first.jsonl
(
    ulimit -n 128
    # shellcheck disable=SC2086 # words
    exec "$STRADS_BIN" $lda --workers 1 --nodes 2 --token-file token \
        --listen ws://127.0.0.1:0/run --log first.jsonl --model crowded.model \
        >first.out 2>first.err </dev/null
) &
first=$!
children="$children $first"
url=$(url_of first)
port=${url#ws://127.0.0.1:}
start second join "$url" --token-file token --data "$documents" --workers 1
second=$child
until_there '"event": "round"' first.jsonl
python3 idle.py "${port%/run}" >idle.out &
idle=$!
children="$children $idle"
until_there there idle.out
ends first "$first" 0
ends second "$second" 0
wait "$idle" || fail "the strangers failed"
came=$(sed -n 's/ came$//p' idle.out)
echo "${came:=0} strangers"
[ "$came" -ge 400 ] || fail "only $came strangers came"
cmp -s whole.model.npy crowded.model.npy || fail "strangers changed the topics"

refuses 2 "wss:// is for dialling" lasso train "$year_train" --nodes 2 \
    --listen wss://127.0.0.1:0/run --model none.json
refuses 2 "need a token" lasso train "$year_train" --nodes 2 \
    --listen ws://0.0.0.0:0/run --model none.json
finish
