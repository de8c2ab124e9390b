# shellcheck shell=bash disable=SC2154
# Settings and Java options of a Cassandra node.

# Fixed, equal parts of the ring, so that nodes join without negotiation.
tokens=(-9223372036854775808 -3074457345618258603 3074457345618258602)

cassandra_host() {
  local hosts
  read -ra hosts <<<"${setting[hosts]}"
  echo "${hosts[$1 - 1]}"
}

cassandra_address() { echo "$(cassandra_host "$1"):${setting[cql_port]}"; }

cassandra_endpoints() { echo "$(cassandra_address "$1") $(cassandra_host "$1"):${setting[storage_port]}"; }

cassandra_settings() {
  local number=$1 host seeds
  host=$(cassandra_host "$number")
  # Every node is a seed, so that each can start while the others are down.
  seeds=$(for host_name in ${setting[hosts]}; do echo "$host_name:${setting[storage_port]}"; done | paste -sd,)
  cat <<YAML
cluster_name: tofrom
num_tokens: 1
initial_token: "${tokens[number - 1]}"
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: "$seeds"}]
listen_address: $host
rpc_address: $host
storage_port: ${setting[storage_port]}
native_transport_port: ${setting[cql_port]}

# The minimum: a dead node is detected after some seconds instead of twenty.
phi_convict_threshold: 5
# How long a starting node waits for the others, which may be down.
block_for_peers_timeout_in_secs: 2

# Generous timeouts for machines with few, busy cores.
read_request_timeout: 10s
range_request_timeout: 10s
write_request_timeout: 10s
cas_contention_timeout: 5s
truncate_request_timeout: 60s
request_timeout: 10s
slow_query_log_timeout: 5s

# A small node.
commitlog_segment_size: 8MiB
commitlog_total_space: 256MiB
memtable_heap_space: 64MiB
memtable_offheap_space: 64MiB
key_cache_size: 8MiB
counter_cache_size: 0MiB
file_cache_size: 32MiB
networking_cache_size: 16MiB
# The default is 10 MiB with a heap of this size. The statements of a dozen keyspaces need more, and then evict each other.
prepared_statements_cache_size: 64MiB
concurrent_reads: 8
concurrent_writes: 64
concurrent_compactors: 1
memtable_flush_writers: 1
auto_snapshot: false

hinted_handoff_enabled: true
paxos_variant: v2
materialized_views_enabled: false
sasi_indexes_enabled: false
storage_compatibility_mode: NONE
commitlog_sync: ${setting[sync]}
YAML
  case ${setting[sync]} in
    group) echo 'commitlog_sync_group_window: 5ms' ;;
    periodic) echo 'commitlog_sync_period: 10000ms' ;;
  esac
  ! is_secure || cassandra_secure_settings "$number"
}

# TLS with client certificates for clients and between nodes, and a login.
cassandra_secure_settings() {
  local keys
  keys="keystore: $secrets/cassandra$1.pem
  truststore: $secrets/ca.pem
  ssl_context_factory: {class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}
  require_client_auth: true"
  cat <<YAML

authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
role_manager: CassandraRoleManager
# Every node has all roles, so that a login works while the others are down.
auth_read_consistency_level: ONE
auth_write_consistency_level: ONE
# Roles and permissions do not change after the start. A shorter time would add reads to the requests of the service.
roles_validity: 1h
permissions_validity: 1h
client_encryption_options:
  enabled: true
  $keys
server_encryption_options:
  internode_encryption: all
  $keys
YAML
}

cassandra_logging() {
  cat <<XML
<configuration>
  <appender name="file" class="ch.qos.logback.core.FileAppender">
    <file>$1/log/system.log</file>
    <encoder><pattern>%-5level [%thread] %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="file"/></root>
</configuration>
XML
}

# Fills `java_options`: the relevant options of Cassandra's start script for Java 17.
cassandra_options() {
  local folder=$1 package
  java_options=(
    -javaagent:"$(echo "$jars"/jamm-*.jar)" -Djdk.attach.allowAttachSelf=true
    -Xss256k -XX:MaxDirectMemorySize=256m -XX:+ExitOnOutOfMemoryError -XX:+PerfDisableSharedMem
    -Djava.io.tmpdir="$folder/tmp" -Djna.tmpdir="$folder/tmp"
    -Dio.netty.tryReflectionSetAccessible=true -Djava.net.preferIPv4Stack=true -Dchronicle.analytics.disable=true
    -Dcassandra.config="file://$folder/cassandra.yaml" -Dcassandra.storagedir="$folder/data"
    -Dcassandra.logdir="$folder/log" -Dcassandra.triggers_dir="$folder/triggers" -Dcassandra-foreground=yes
    -Dlogback.configurationFile="file:$folder/logback.xml"
    # No delays for ring discovery and shutdown.
    -Dcassandra.ring_delay_ms=1000 -Dcassandra.skip_wait_for_gossip_to_settle=0
    -Dcassandra.shutdown_announce_in_ms=0
    # A node is dead after 11.5 times (phi 5) the mean heartbeat interval. Long intervals do not count: otherwise those of
    # a frozen node would hide its later death.
    -Dcassandra.fd_initial_value_ms=500 -Dcassandra.fd_max_interval_ms=600
  )
  # The first role at once, and a fast hash of the password, which is random: every connection verifies it.
  ! is_secure || java_options+=(-Dcassandra.superuser_setup_delay_ms=0 -Dcassandra.auth_bcrypt_gensalt_log2_rounds=4)
  for package in java.base/{jdk.internal.misc,java.lang.ref} java.management.rmi/com.sun.jmx.remote.internal.rmi \
    java.management/com.sun.jmx.remote.security java.rmi/sun.rmi.{registry,server} java.sql/java.sql \
    jdk.unsupported/sun.misc; do
    java_options+=(--add-exports "$package=ALL-UNNAMED")
  done
  for package in java.base/jdk.internal.{loader,ref,reflect,math,module,util.jar} java.base/sun.nio.ch \
    java.base/java.{io,lang,lang.module,lang.reflect,nio,util} jdk.management/com.sun.management.internal; do
    java_options+=(--add-opens "$package=ALL-UNNAMED")
  done
  case ${setting[vm]} in
    fast) java_options+=(-Xms512m -Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dcassandra.available_processors=2) ;;
    measure) java_options+=(-Xms1g -Xmx1g -XX:+UseG1GC) ;;
  esac
}

cassandra_launch() {
  local number=$1 node=cassandra$1 folder=$dir/cassandra$1 java_options
  mkdir -p "$folder"/{data,log,triggers}
  # Java unpacks libraries there and leaves them if it is killed.
  rm -rf "$folder/tmp"
  mkdir "$folder/tmp"
  cassandra_settings "$number" >"$folder/cassandra.yaml"
  cassandra_logging "$folder" >"$folder/logback.xml"
  cassandra_options "$folder"
  launch "$node" "$java" "${java_options[@]}" -cp "$jars/*" org.apache.cassandra.service.CassandraDaemon
}
