#!/bin/sh
# Makes, once, an authority of the deployment's own and the certificate of the OpenSearch node that it signs:
#   deploy/opensearch/certificates.sh [DIRECTORY [NAME]]
# NAME is the name by which the hosts reach the node. Nothing that is there is replaced; what the hosts are given is
# authority.pem alone, and the authority's key can be put away, or deleted, afterwards.
set -eu
# Before anything is made: keys are never readable by others, not for a moment.
umask 077
directory=${1:-$(dirname "$0")/certificates}
name=${2:-opensearch}
days=3650
mkdir -p "$directory"
# It may have been made before, by whoever mounts it.
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
# The processes in the containers are other users; nobody else gets through the directory.
chmod 0644 authority.pem node.pem node.key
