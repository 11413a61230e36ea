#!/bin/sh
# Makes an authority for this deployment, and a certificate for the OpenSearch node that it signs:
#   deploy/opensearch/certificates.sh [DIRECTORY [NAME]]
# NAME is the name by which the hosts reach the node. Existing files are kept. Give the hosts authority.pem alone; put
# the authority's key away, or delete it, afterwards.
set -eu
# Set first, so that others can read no key even for a moment.
umask 077
directory=${1:-$(dirname "$0")/certificates}
name=${2:-opensearch}
days=3650
mkdir -p "$directory"
# Docker may have made the directory before, to mount it.
chmod 0700 "$directory"
cd "$directory"
if [ -e authority.pem ]; then
    echo "there are certificates in $directory already" >&2
    exit 1
fi
curve="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
openssl req -x509 $curve -keyout authority.key -out authority.pem -days $days -subj "/CN=catalog search authority" \
    -addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign,cRLSign
openssl req $curve -keyout node.key -out node.csr -subj "/CN=$name"
cat > node.cnf <<END
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth,clientAuth
subjectAltName=DNS:$name,DNS:localhost
END
openssl x509 -req -in node.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days $days -extfile node.cnf \
    -out node.pem
rm node.csr node.cnf authority.srl
# Other users run the processes in the containers; the directory keeps out everybody else.
chmod 0644 authority.pem node.pem node.key
