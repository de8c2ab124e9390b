{{- define "tofrom.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tofrom.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tofrom.labels" -}}
{{ include "tofrom.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "tofrom.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The Secret with keys and passwords. A hook runs before the others, so it has its own copy. */}}
{{- define "tofrom.secretName" -}}
{{- .root.Values.secrets.existingSecret | default (printf "%s%s" (include "tofrom.fullname" .root) .suffix) -}}
{{- end -}}

{{/* Stops with a message if values do not fit together. */}}
{{- define "tofrom.check" -}}
{{- $v := .Values -}}
{{- if not $v.baseUrl -}}
{{- fail "baseUrl is missing: expected the address that clients use, like https://feeds.example.org" -}}
{{- end -}}
{{- if not (or $v.tls.secretName $v.proxy.trusted) -}}
{{- fail "tls.secretName and proxy.trusted are missing: expected the Secret of a certificate, or the networks of a proxy that terminates TLS" -}}
{{- end -}}
{{- if and $v.secrets.existingSecret (or $v.secrets.secretKeys $v.secrets.cqlPassword $v.secrets.natsPassword $v.secrets.natsCredentials) -}}
{{- fail "secrets.existingSecret excludes the other values of secrets: put them into that Secret" -}}
{{- end -}}
{{- if not (or $v.secrets.existingSecret $v.secrets.secretKeys) -}}
{{- fail "secrets.secretKeys is missing: expected the output of openssl rand -base64 32, or secrets.existingSecret" -}}
{{- end -}}
{{- if or (hasKey $v.settings "secret_keys") (hasKey ($v.settings.cql | default dict) "password") (hasKey ($v.settings.nats | default dict) "password") -}}
{{- fail "settings must not contain secrets, because a ConfigMap is not secret: use the values of secrets" -}}
{{- end -}}
{{- range $name := list "base_url" "store" "listen" "admin_listen" "data_dir" "tls" "proxy" -}}
{{- if hasKey $v.settings $name -}}
{{- fail (printf "settings.%s is made by the chart: use the other values" $name) -}}
{{- end -}}
{{- end -}}
{{- if eq $v.engine "cluster" -}}
{{- $links := $v.cluster -}}
{{- if not (and $links.cql.nodes $links.nats.servers) -}}
{{- fail "cluster.cql.nodes or cluster.nats.servers is missing: engine cluster needs both" -}}
{{- end -}}
{{- if and $links.nats.user $links.nats.credentials -}}
{{- fail "cluster.nats.user and cluster.nats.credentials exclude each other" -}}
{{- end -}}
{{- if not $v.secrets.existingSecret -}}
{{- if and $links.cql.user (not $v.secrets.cqlPassword) -}}
{{- fail "secrets.cqlPassword is missing: cluster.cql.user needs it" -}}
{{- end -}}
{{- if and $links.nats.user (not $v.secrets.natsPassword) -}}
{{- fail "secrets.natsPassword is missing: cluster.nats.user needs it" -}}
{{- end -}}
{{- if and $links.nats.credentials (not $v.secrets.natsCredentials) -}}
{{- fail "secrets.natsCredentials is missing: cluster.nats.credentials needs it" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A value of TOML. Numbers of values.yaml are floats in templates, and no setting is one. */}}
{{- define "tofrom.tomlValue" -}}
{{- if kindIs "string" . -}}
{{ toJson . }}
{{- else if kindIs "bool" . -}}
{{ . }}
{{- else if kindIs "slice" . -}}
[{{ range $index, $item := . }}{{ if $index }}, {{ end }}{{ toJson (toString $item) }}{{ end }}]
{{- else -}}
{{ int64 . }}
{{- end -}}
{{- end -}}

{{/* A table of TOML with its name, its own settings before the tables in it. */}}
{{- define "tofrom.tomlTable" -}}
{{- $name := .name -}}
{{- $table := .table -}}
{{- range $key := keys $table | sortAlpha -}}
{{- $value := get $table $key -}}
{{- if not (kindIs "map" $value) }}
{{ $key }} = {{ include "tofrom.tomlValue" $value }}
{{- end -}}
{{- end -}}
{{- range $key := keys $table | sortAlpha -}}
{{- $value := get $table $key -}}
{{- if kindIs "map" $value -}}
{{- $full := ternary (printf "%s.%s" $name $key) $key (ne $name "") }}

[{{ $full }}]
{{- include "tofrom.tomlTable" (dict "name" $full "table" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Client TLS of a link, with the folder of its Secret. */}}
{{- define "tofrom.linkTls" -}}
{{- $tls := dict "ca" (printf "%s/ca.crt" .folder) -}}
{{- if .tls.clientCertificate -}}
{{- $_ := set $tls "certificate" (printf "%s/tls.crt" .folder) -}}
{{- $_ := set $tls "private_key" (printf "%s/tls.key" .folder) -}}
{{- end -}}
{{- toYaml $tls -}}
{{- end -}}

{{/* tofrom.toml. Values of `settings` win. */}}
{{- define "tofrom.settings" -}}
{{- $v := .Values -}}
{{- $s := dict "base_url" $v.baseUrl "admin_listen" "0.0.0.0:8444" "shutdown_delay" "5s" -}}
{{- if $v.tls.secretName -}}
{{- $_ := set $s "listen" "0.0.0.0:8443" -}}
{{- $_ := set $s "tls" (dict "certificate" "/etc/tofrom/tls/tls.crt" "private_key" "/etc/tofrom/tls/tls.key") -}}
{{- end -}}
{{- if $v.proxy.trusted -}}
{{- $_ := set $s "proxy" (dict "listen" "0.0.0.0:8080" "trusted" $v.proxy.trusted) -}}
{{- end -}}
{{- if eq $v.engine "cluster" -}}
{{- $_ := set $s "store" "cql" -}}
{{- if $v.cluster.insecureLinks -}}{{- $_ := set $s "insecure_cluster_links" true -}}{{- end -}}
{{- if $v.cluster.vouchForDurability -}}{{- $_ := set $s "vouch_for_durability" true -}}{{- end -}}
{{- with $v.cluster.cql -}}
{{- $cql := dict "nodes" .nodes "datacenter" .datacenter "keyspace" .keyspace "replication" .replication -}}
{{- if .user -}}
{{- $_ := set $cql "user" .user -}}
{{- $_ := set $cql "password_file" "/run/secrets/tofrom/cql_password" -}}
{{- end -}}
{{- if .tls.secretName -}}
{{- $_ := set $cql "tls" (include "tofrom.linkTls" (dict "folder" "/etc/tofrom/cql-tls" "tls" .tls) | fromYaml) -}}
{{- end -}}
{{- $_ := set $s "cql" $cql -}}
{{- end -}}
{{- with $v.cluster.nats -}}
{{- $nats := dict "servers" .servers "replicas" .replicas "max_bytes" .maxBytes -}}
{{- if .monitor -}}{{- $_ := set $nats "monitor" .monitor -}}{{- end -}}
{{- if .user -}}
{{- $_ := set $nats "user" .user -}}
{{- $_ := set $nats "password_file" "/run/secrets/tofrom/nats_password" -}}
{{- end -}}
{{- if .credentials -}}{{- $_ := set $nats "credentials" "/run/secrets/tofrom/nats_credentials" -}}{{- end -}}
{{- if .tls.secretName -}}
{{- $_ := set $nats "tls" (include "tofrom.linkTls" (dict "folder" "/etc/tofrom/nats-tls" "tls" .tls) | fromYaml) -}}
{{- end -}}
{{- $_ := set $s "nats" $nats -}}
{{- end -}}
{{- else -}}
{{- $_ := set $s "store" "sqlite" -}}
{{- end -}}
{{- $merged := mergeOverwrite $s (deepCopy $v.settings) -}}
{{- include "tofrom.tomlTable" (dict "name" "" "table" $merged) | trim -}}
{{- end -}}

{{/* Files with passwords, as items of the Secret. */}}
{{- define "tofrom.secretFiles" -}}
{{- $files := list -}}
{{- if eq .Values.engine "cluster" -}}
{{- if .Values.cluster.cql.user -}}{{- $files = append $files "cql_password" -}}{{- end -}}
{{- if .Values.cluster.nats.user -}}{{- $files = append $files "nats_password" -}}{{- end -}}
{{- if .Values.cluster.nats.credentials -}}{{- $files = append $files "nats_credentials" -}}{{- end -}}
{{- end -}}
{{- join " " $files -}}
{{- end -}}

{{/* Checksums restart the pods when settings or secrets change. */}}
{{- define "tofrom.podMetadata" -}}
annotations:
  checksum/settings: {{ include "tofrom.settings" .root | sha256sum }}
  checksum/secrets: {{ toJson .root.Values.secrets | sha256sum }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
labels:
  {{- include "tofrom.selector" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/*
The specification of a pod, without `restartPolicy` and `serviceAccountName`.
  root, component: api, worker, server or schema; args; resources; suffix of ConfigMap and Secret
*/}}
{{- define "tofrom.podSpec" -}}
{{- $root := .root -}}
{{- $v := .root.Values -}}
{{- $serves := has .component (list "api" "server") -}}
{{- $files := include "tofrom.secretFiles" $root -}}
{{- $isCluster := eq $v.engine "cluster" -}}
automountServiceAccountToken: false
# Kubernetes would add variables like TOFROM_SERVICE_HOST, which the program rejects as unknown settings.
enableServiceLinks: false
{{- with $v.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  # Otherwise every start would open all files of the volume to the group.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
# Requests in flight get 10 s after shutdown_delay, the rest of the server 5 s.
terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
containers:
  - name: tofrom
    image: {{ include "tofrom.image" $root }}
    imagePullPolicy: {{ $v.image.pullPolicy }}
    args:
      {{- toYaml .args | nindent 6 }}
    env:
      - name: TOFROM_LOG
        value: {{ $v.log | quote }}
      {{- if not $isCluster }}
      # A folder in the volume, which the server creates for itself alone: the volume's root is open to its group. Not in
      # tofrom.toml, because the image has this variable too, and variables win.
      - name: TOFROM_DATA_DIR
        value: /var/lib/tofrom/data
      {{- end }}
      - name: TOFROM_SECRET_KEYS
        valueFrom:
          secretKeyRef:
            name: {{ include "tofrom.secretName" (dict "root" $root "suffix" .suffix) }}
            key: secret_keys
    {{- if ne .component "schema" }}
    ports:
      {{- if and $serves $v.tls.secretName }}
      - {name: https, containerPort: 8443}
      {{- end }}
      {{- if and $serves $v.proxy.trusted }}
      - {name: http, containerPort: 8080}
      {{- end }}
      - {name: admin, containerPort: 8444}
    startupProbe:
      httpGet: {path: /healthz, port: admin}
      periodSeconds: 2
      failureThreshold: 60
    livenessProbe:
      httpGet: {path: /healthz, port: admin}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    # Asks store and log, with 2 s for each.
    readinessProbe:
      httpGet: {path: /readyz, port: admin}
      periodSeconds: 5
      timeoutSeconds: 7
      failureThreshold: 2
    {{- end }}
    resources:
      {{- toYaml .resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
      - {name: settings, mountPath: /etc/tofrom/settings, readOnly: true}
      {{- if and $serves $v.tls.secretName }}
      - {name: tls, mountPath: /etc/tofrom/tls, readOnly: true}
      {{- end }}
      {{- if $files }}
      - {name: secrets, mountPath: /run/secrets/tofrom, readOnly: true}
      {{- end }}
      {{- if and $isCluster $v.cluster.cql.tls.secretName }}
      - {name: cql-tls, mountPath: /etc/tofrom/cql-tls, readOnly: true}
      {{- end }}
      {{- if and $isCluster $v.cluster.nats.tls.secretName }}
      - {name: nats-tls, mountPath: /etc/tofrom/nats-tls, readOnly: true}
      {{- end }}
      {{- if not $isCluster }}
      - {name: data, mountPath: /var/lib/tofrom}
      {{- end }}
volumes:
  - name: settings
    configMap:
      name: {{ include "tofrom.fullname" $root }}{{ .suffix }}
  {{- if and $serves $v.tls.secretName }}
  - name: tls
    secret:
      secretName: {{ $v.tls.secretName }}
      defaultMode: 0440
  {{- end }}
  {{- if $files }}
  - name: secrets
    secret:
      secretName: {{ include "tofrom.secretName" (dict "root" $root "suffix" .suffix) }}
      defaultMode: 0440
      items:
        {{- range splitList " " $files }}
        - {key: {{ . }}, path: {{ . }}}
        {{- end }}
  {{- end }}
  {{- if and $isCluster $v.cluster.cql.tls.secretName }}
  - name: cql-tls
    secret:
      secretName: {{ $v.cluster.cql.tls.secretName }}
      defaultMode: 0440
  {{- end }}
  {{- if and $isCluster $v.cluster.nats.tls.secretName }}
  - name: nats-tls
    secret:
      secretName: {{ $v.cluster.nats.tls.secretName }}
      defaultMode: 0440
  {{- end }}
{{- if and $isCluster (ne .component "schema") }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "tofrom.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- with $v.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The Secret's content. */}}
{{- define "tofrom.secretData" -}}
{{- with .Values.secrets -}}
secret_keys: {{ .secretKeys | quote }}
{{- with .cqlPassword }}
cql_password: {{ . | quote }}
{{- end }}
{{- with .natsPassword }}
nats_password: {{ . | quote }}
{{- end }}
{{- with .natsCredentials }}
nats_credentials: {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}
