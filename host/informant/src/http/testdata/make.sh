#!/bin/sh
# Makes the certificates of this directory anew, all with the one key `client.key`. The keys of the two authorities are
# thrown away. Usage: sh make.sh
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/config" <<END
[ca]
default_ca = all
[all]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
unique_subject = no
preserve = yes
email_in_dn = no
policy = any
[any]
commonName = optional
organizationName = optional
organizationalUnitName = optional
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[clientAuth]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = clientAuth
[serverAuth]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = serverAuth
[req]
distinguished_name = none
[none]
END

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# sign FILE SUBJECT KEY EXTENSIONS FROM TO OPTIONS...
sign() {
  file=$1 subject=$2 key=$3 extensions=$4 from=$5 to=$6
  shift 6
  : >"$work/index"
  openssl req -new -config "$work/config" -utf8 -key "$key" -subj "$subject" -out "$work/request"
  openssl ca -batch -notext -utf8 -config "$work/config" -extensions "$extensions" -in "$work/request" \
    -startdate "${from}0101000000Z" -enddate "${to}0101000000Z" -out "$file.pem" "$@" 2>>"$work/log" || { cat "$work/log" >&2; exit 1; }
}

# authority FILE NAME
authority() {
  key "$work/$1.key"
  sign "$1" "/CN=$2" "$work/$1.key" authority 2020 2120 -selfsign -keyfile "$work/$1.key"
}

# client FILE SUBJECT AUTHORITY USAGE FROM TO
client() { sign "$1" "$2" client.key "$4" "$5" "$6" -cert "$3.pem" -keyfile "$work/$3.key"; }

authority clients "informant test clients"
authority strangers "informant test strangers"
key client.key
client jane "/O=readers/O=auditors/CN=jane" clients clientAuth 2020 2120
client admin "/O=system:masters/CN=admin" clients clientAuth 2020 2120
client anonymous "/CN=system:anonymous" clients clientAuth 2020 2120
client nameless "/O=readers" clients clientAuth 2020 2120
client two-names "/CN=first/O=Größe/OU=none/CN=second" clients clientAuth 2020 2120
client ended "/CN=jane" clients clientAuth 2020 2021
client early "/CN=jane" clients clientAuth 2119 2120
client server-usage "/CN=jane" clients serverAuth 2020 2120
client stranger "/CN=jane" strangers clientAuth 2020 2120
rm strangers.pem
