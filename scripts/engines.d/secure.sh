# shellcheck shell=bash disable=SC2154
# The secrets of a secure cluster: an authority, the certificates that it signed, a password and an NKey. The first
# `up --secure` makes them; `down --wipe` deletes them.

secrets=$dir/secure
# examples/cluster-secure.toml names the secrets in this folder.
link=$root/.engines

is_secure() { [ "${setting[secure]:-}" = yes ]; }

make_secrets() {
  local number new=$secrets.new
  [ ! -d "$secrets" ] || return 0
  command -v openssl >/dev/null || packages openssl
  rm -rf "$new"
  (
    umask 077
    mkdir "$new"
    cd "$new" || exit
    printf '[req]\ndistinguished_name = name\n[name]\n' >openssl.cnf
    certificate ca -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
    for number in 1 2 3; do
      signed "cassandra$number" serverAuth,clientAuth "IP:$(cassandra_host "$number")"
      # Cassandra expects both in one file.
      cat "cassandra$number.key" >>"cassandra$number.pem"
      signed "nats$number" serverAuth,clientAuth IP:127.0.0.1
    done
    signed client clientAuth DNS:client
    openssl rand -hex 24 >cql.password
    openssl rand -hex 24 >admin.password
    # check_nodes.py signs with it.
    openssl genpkey -algorithm ed25519 -out nkey.pem
    python3 -B "$parts/nkey.py" nkey.pem nats.nkey >nats.user
    # All certificates are signed.
    rm ca.key openssl.cnf cassandra?.key
  )
  mv "$new" "$secrets"
}

# certificate NAME OPTION...
certificate() {
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"
  openssl req -x509 -config openssl.cnf -key "$1.key" -days 3650 -subj "/CN=$1" -addext subjectKeyIdentifier=hash \
    -out "$1.pem" "${@:2}"
}

# signed NAME USAGE SUBJECT: a certificate that the authority signed.
signed() {
  certificate "$1" -CA ca.pem -CAkey ca.key -addext authorityKeyIdentifier=keyid \
    -addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature \
    -addext "extendedKeyUsage=$2" -addext "subjectAltName=$3"
}

# The example has the default addresses: a cluster with others does not replace the link.
link_secrets() {
  local name
  if [ -e "$link" ]; then
    for name in "${!defaults[@]}"; do
      [ "${setting[$name]}" = "${defaults[$name]}" ] || return 0
    done
  fi
  ln -sfn "$secrets" "$link"
}

delete_secrets() {
  [ "$(readlink "$link")" != "$secrets" ] || rm "$link"
  rm -rf "$secrets" "$secrets.new"
}
