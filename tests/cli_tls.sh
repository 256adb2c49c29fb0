#!/bin/sh
# A run over tls+tcp://: processes with a certificate of its authority take
# part, with the same bits. Other processes get an error, and the run waits for
# valid ones. So does a run with a token, and one with both.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
umask 077

# authority NAME, node NAME AUTHORITY DAYS OPTIONS...: NAME.pem and NAME.key
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days 2 -keyout "$1.key" -out "$1.pem" -subj "/CN=$1" 2>openssl.err
}
node() {
    openssl req -newkey "${4:-ec}" -pkeyopt "${5:-ec_paramgen_curve:prime256v1}" \
        -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>openssl.err &&
        openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" \
            -CAcreateserial -days "$3" -out "$1.pem" 2>openssl.err
}
if ! { authority ours && authority theirs && node zero ours 1 &&
    node one ours 1 rsa rsa_keygen_bits:2048 && node alien theirs 1 &&
    node late ours 0; }; then
    fail "openssl: $(cat openssl.err)"
fi
as() {
    echo "--tls-ca $1.pem --tls-cert $2.pem --tls-key $2.key"
}
common="--lambda-ratio 0.02 --deterministic --partitions 6 --seed 5"
gives 0 lasso train --no-intercept "$year_train" $common --model one.json

# Three processes, one of them with an RSA key; node 2 also connects to node 1.
train="lasso train --no-intercept $year_train $common --workers 1 --listen tls+tcp://127.0.0.1:0"
# shellcheck disable=SC2086,SC2046 # words
start first $train --nodes 3 $(as ours zero) --model three.json
first=$child
url=$(url_of first)
case $url in
tls+tcp://127.0.0.1:*) ;;
*) fail "it listens at $url" ;;
esac
port=${url##*:}

# Processes with an invalid certificate get an error, and the run continues to
# wait.
cat ours.pem theirs.pem >both.pem
# shellcheck disable=SC2046 # words
refuses 2 "not signed by the authority" join "$url" $(as theirs alien)
refuses 2 "does not accept this node's certificate" join "$url" \
    --tls-ca both.pem --tls-cert alien.pem --tls-key alien.key
refuses 2 "this run uses tls+tcp:// addresses" join "tcp://127.0.0.1:$port"
refuses 2 "give --tls-ca" join "$url"
# client ALERT OPTIONS...: openssl's client is refused with that alert. In TLS
# 1.3 it arrives after the client's part of the handshake.
client() {
    alert=$1
    shift
    timeout 20 openssl s_client -ign_eof -connect "127.0.0.1:$port" \
        -CAfile ours.pem -alpn strads "$@" >client.out 2>&1 </dev/null &&
        fail "openssl $*: it was let in"
    says client.out "$alert"
}
client "certificate expired" -cert late.pem -key late.key
client "certificate required"
client "alert protocol version" -tls1_2 -cert zero.pem -key zero.key
client "no application protocol" -alpn http/1.1 -cert zero.pem -key zero.key
for k in 1 2 3 4 5 6 7 8; do
    head -c 70000 /dev/urandom | timeout 5 openssl s_client -quiet -connect \
        "127.0.0.1:$port" -alpn strads -cert zero.pem -key zero.key \
        >client.out 2>&1 || :
done

# shellcheck disable=SC2046 # words
start second join "$url" --workers 1 $(as ours one)
second=$child
# shellcheck disable=SC2046 # words
start third join "$url" --workers 1 $(as both zero)
third=$child
ends first "$first" 0
ends second "$second" 0
ends third "$third" 0
same_bits "three processes with certificates" one.json three.json

# The connecting process also checks the certificate and the version.
# server TEXT OPTIONS...: openssl's server, which is refused with that text
server() {
    text=$1
    shift
    : >server.out # of the previous server
    openssl s_server -accept 0 -CAfile ours.pem "$@" -www >server.out 2>&1 \
        </dev/null &
    children="$children $!"
    until_there "ACCEPT" server.out
    port=$(sed -n 's/^ACCEPT.*:\([0-9]*\).*/\1/p' server.out)
    # shellcheck disable=SC2046 # words
    refuses 2 "$text" join "tls+tcp://127.0.0.1:$port" $(as ours zero)
}
server "its certificate has expired" -cert late.pem -key late.key
server "does not speak TLS 1.3" -cert zero.pem -key zero.key -tls1_2
server "it is not a strads node" -cert zero.pem -key zero.key

# A run without TLS refuses TLS clients
start first lasso train --no-intercept "$year_train" $common --workers 1 --nodes 2 \
    --listen tcp://127.0.0.1:0 --model two.json
first=$child
url=$(url_of first)
# shellcheck disable=SC2046 # words
refuses 2 "the run there does not use TLS" join "tls+$url" \
    $(as ours zero)
# shellcheck disable=SC2046 # words
refuses 2 "all addresses are tls+tcp://" join "$url" $(as ours zero)
start second join "$url" --workers 1
second=$child
ends first "$first" 0
ends second "$second" 0

# A token is a key of TLS 1.3, as another implementation derives it
# (docs/wire-format.md). Without the key, or in TLS 1.2, nobody is let in.
echo "an example of a token" >token
start first lasso train --no-intercept "$year_train" $common --workers 1 --nodes 2 \
    --listen tcp://127.0.0.1:0 --token-file token --model token.json
first=$child
url=$(url_of first)
port=${url##*:}
key=$(openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt salt:strads \
    -kdfopt info:psk -kdfopt "key:$(cat token)" HKDF | tr -d ':\n')
timeout 20 openssl s_client -ign_eof -connect "127.0.0.1:$port" -alpn strads \
    -psk_identity strads -psk "$key" >client.out 2>&1 </dev/null || :
says client.out "Reused, TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256"
# OpenSSL 3.0 and 3.5 name another reason.
client "SSL alert number" -psk_identity strads -psk "00${key#??}"
client "handshake failure" -psk_identity another -psk "$key"
client "handshake failure" -cert zero.pem -key zero.key
client "protocol version" -tls1_2 -psk_identity strads -psk "$key"
# shellcheck disable=SC2046 # words
refuses 2 "write tcp://, and omit --tls-ca" join "tls+$url" $(as ours zero)
start second join "$url" --token-file token --workers 1
second=$child
ends first "$first" 0
ends second "$second" 0
same_bits "two processes with a token" one.json token.json

# With certificates and a token every process needs both
# shellcheck disable=SC2046,SC2086 # words
start first lasso train --no-intercept "$year_train" $common --workers 1 --nodes 2 \
    --listen tls+tcp://127.0.0.1:0 --token-file token $(as ours zero) \
    --model both.json
first=$child
url=$(url_of first)
echo "another example of a token" >other
# shellcheck disable=SC2046 # words
refuses 2 "it has a token and this node has none" join "$url" $(as ours one)
# shellcheck disable=SC2046 # words
refuses 2 "the run's --token-file" join "$url" --token-file other $(as ours one)
refuses 2 "give --tls-ca" join "$url" --token-file token
refuses 2 "write tls+tcp://" join "${url#tls+}" --token-file token
# shellcheck disable=SC2046 # words
start second join "$url" --workers 1 --token-file token $(as ours one)
second=$child
ends first "$first" 0
ends second "$second" 0
same_bits "certificates and a token" one.json both.json

# Invalid files
alone() {
    text=$1
    shift
    refuses 2 "$text" lasso train "$year_train" --nodes 2 \
        --listen tls+tcp://127.0.0.1:0 --model m.json "$@"
}
# shellcheck disable=SC2046 # words
alone "this node's certificate has expired" $(as ours late)
# shellcheck disable=SC2046 # words
alone "this node's certificate is not signed by" $(as theirs zero)
alone "is not the key of" --tls-ca ours.pem --tls-cert zero.pem \
    --tls-key one.key
alone "--tls-key is missing" --tls-ca ours.pem --tls-cert zero.pem
alone "expected certificates in PEM" --tls-ca zero.key --tls-cert zero.pem \
    --tls-key zero.key
alone "expected a private key" --tls-ca ours.pem --tls-cert zero.pem \
    --tls-key zero.pem
refuses 2 "none.pem: cannot be read: No such file" lasso train "$year_train" \
    --nodes 2 --listen tls+tcp://127.0.0.1:0 --model m.json --tls-ca none.pem \
    --tls-cert zero.pem --tls-key zero.key
chmod 644 zero.key
# shellcheck disable=SC2046 # words
alone "chmod 600" $(as ours zero)
[ ! -e m.json ] || fail "a run that never began left a model"

finish
