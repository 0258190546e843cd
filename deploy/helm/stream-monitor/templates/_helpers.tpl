{{- define "stream-monitor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Prefix of every name: at most 40 characters, so that every name with a suffix is a valid label. */}}
{{- define "stream-monitor.fullname" -}}
{{- $name := include "stream-monitor.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "stream-monitor.gateway" -}}{{ include "stream-monitor.fullname" . }}-gateway{{- end -}}
{{- define "stream-monitor.internal" -}}{{ include "stream-monitor.fullname" . }}-internal{{- end -}}
{{- define "stream-monitor.uninstall" -}}{{ include "stream-monitor.fullname" . }}-uninstall{{- end -}}

{{- define "stream-monitor.selector" -}}
app.kubernetes.io/name: {{ include "stream-monitor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end -}}

{{/* The running version: the tag, or the appVersion when a digest hides the tag. */}}
{{- define "stream-monitor.version" -}}
{{- ternary .Chart.AppVersion .Values.image.tag (or (not .Values.image.tag) (not (not .Values.image.digest))) -}}
{{- end -}}

{{/* Labels of a component: (list $ "gateway"). */}}
{{- define "stream-monitor.labels" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ include "stream-monitor.name" $ }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/version: {{ include "stream-monitor.version" $ | trunc 63 | regexFind "[A-Za-z0-9](.*[A-Za-z0-9])?" | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The operator's pod labels; labels of selectors are refused: (list $ "gateway"). */}}
{{- define "stream-monitor.podLabels" -}}
{{- $of := index . 1 -}}
{{- $labels := (index (index . 0).Values $of).podLabels -}}
{{- range $name := list "app" "monitor-id" "generation" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" -}}
  {{- if hasKey $labels $name -}}
    {{- fail (printf "%s.podLabels sets %s, which is not yours to set: pods are told apart by it" $of $name) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* Selector of the worker pods, which the gateway creates. */}}
{{- define "stream-monitor.workers" -}}
app: stream-monitor
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: worker
{{- end -}}

{{- define "stream-monitor.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ required "image.tag is missing: the version that \"make image\" has printed, of the image that is in image.repository; or give its image.digest" .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/*
Seconds from SIGTERM to SIGKILL: the draining, then the time limits of the gateway's
stop, and a margin of 5 s. The limits are 30 s for requests, 10 s for a pod that is
being created, 10 s for collecting the monitors, 40 s and 5 s for handing them over,
and 30 s for reports in progress.
*/}}
{{- define "stream-monitor.grace" -}}{{ add (int .Values.gateway.drainSeconds) 130 }}{{- end -}}

{{- define "stream-monitor.scheme" -}}{{ ternary "https" "http" .Values.tls.enabled }}{{- end -}}
{{- define "stream-monitor.port" -}}{{ default (ternary 443 80 .Values.tls.enabled) .Values.service.port }}{{- end -}}

{{- define "stream-monitor.secret" -}}{{ default (include "stream-monitor.fullname" .) .Values.secret.existingSecret }}{{- end -}}
{{/* true if the workers have a namespace of their own, else empty. */}}
{{- define "stream-monitor.apart" -}}
{{- if not (has .Values.worker.namespace (list "" .Release.Namespace)) }}true{{ end -}}
{{- end -}}

{{- define "stream-monitor.workerNamespace" -}}{{ default .Release.Namespace .Values.worker.namespace }}{{- end -}}

{{/* A pod gets nothing from the Secrets of another namespace, so what workers need is beside them. */}}
{{- define "stream-monitor.workerSecret" -}}
{{- if .Values.worker.existingSecret -}}
{{ .Values.worker.existingSecret }}
{{- else if not (include "stream-monitor.apart" .) -}}
{{ include "stream-monitor.secret" . }}
{{- else -}}
{{- if .Values.secret.existingSecret -}}
  {{- fail (printf "worker.existingSecret is missing: the Secret in namespace %s with the proxies of secret.existingSecret, and nothing else of it" .Values.worker.namespace) -}}
{{- end -}}
{{ include "stream-monitor.fullname" . }}-worker
{{- end -}}
{{- end -}}

{{- define "stream-monitor.workerCASecret" -}}
{{- if .Values.worker.existingCASecret -}}
{{ .Values.worker.existingCASecret }}
{{- else if not (include "stream-monitor.apart" .) -}}
{{ include "stream-monitor.tlsSecret" . }}
{{- else -}}
{{- if .Values.tls.existingSecret -}}
  {{- fail (printf "worker.existingCASecret is missing: the Secret in namespace %s with the ca.crt of tls.existingSecret, and without its key" .Values.worker.namespace) -}}
{{- end -}}
{{ include "stream-monitor.fullname" . }}-worker-ca
{{- end -}}
{{- end -}}

{{- define "stream-monitor.tlsSecret" -}}{{ default (printf "%s-tls" (include "stream-monitor.fullname" .)) .Values.tls.existingSecret }}{{- end -}}

{{/* true if callers of the gateway need a ca.crt, else empty. */}}
{{- define "stream-monitor.hasCA" -}}
{{- if and .Values.tls.enabled (or (not .Values.tls.existingSecret) .Values.tls.existingSecretHasCA) }}true{{ end -}}
{{- end -}}

{{/* A pod's nodeSelector: the operator's, and nodes that can run the image: (list $ "gateway"). */}}
{{- define "stream-monitor.nodeSelector" -}}
{{- $ := index . 0 -}}
{{- $selector := dict -}}
{{- with $.Values.image.architecture -}}{{- $_ := set $selector "kubernetes.io/arch" . -}}{{- end -}}
{{- with merge (dict) (index $.Values (index . 1)).nodeSelector $selector -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{/* Security context of every pod of the release. */}}
{{- define "stream-monitor.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "stream-monitor.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/*
The keys: the given ones, else those in the cluster, else new ones. They are decided
once per rendering, because the checksum in the Deployment must match the Secret and
Helm chooses the order of the templates.
*/}}
{{- define "stream-monitor.keys" -}}
{{- if not (hasKey .Values.secret "decided") -}}
  {{- $there := dict -}}
  {{- if .Values.generate -}}
    {{- $there = (lookup "v1" "Secret" .Release.Namespace (include "stream-monitor.fullname" .)).data | default dict -}}
  {{- end -}}
  {{- $keys := dict -}}
  {{- range $name := list "API_KEY" "INTERNAL_API_KEY" "WEBHOOK_SIGNING_KEY" -}}
    {{- $key := index $.Values.secret.values $name -}}
    {{- if and (not $key) (hasKey $there $name) -}}
      {{- $key = index $there $name | b64dec -}}
    {{- end -}}
    {{- if not (or $key $.Values.generate) -}}
      {{- fail (printf "secret.values.%s is missing, and generate is false: name a Secret that has it in secret.existingSecret, or give all keys" $name) -}}
    {{- end -}}
    {{- $_ := set $keys $name (default (randAlphaNum 48) $key) -}}
  {{- end -}}
  {{- /* Without these keys the gateway derives its own. */ -}}
  {{- range $name := list "EVIDENCE_LINK_KEY" "SECRETS_KEY" -}}
    {{- $key := index $.Values.secret.values $name -}}
    {{- if and (not $key) (hasKey $there $name) -}}
      {{- $key = index $there $name | b64dec -}}
    {{- end -}}
    {{- if and (not $key) $.Values.generate -}}{{- $key = randAlphaNum 48 -}}{{- end -}}
    {{- with $key -}}{{- $_ := set $keys $name . -}}{{- end -}}
  {{- end -}}
  {{- $dsn := .Values.secret.values.DB_DSN -}}
  {{- if and (not $dsn) (hasKey $there "DB_DSN") -}}
    {{- $dsn = index $there "DB_DSN" | b64dec -}}
  {{- end -}}
  {{- $_ := set $keys "DB_DSN" (required "secret.values.DB_DSN is missing: where the database is, postgres://USER:PASSWORD@HOST:5432/DATABASE; or name a Secret that has it in secret.existingSecret" $dsn) -}}
  {{- range $name := list "EVIDENCE_S3_ACCESS_KEY" "EVIDENCE_S3_SECRET_KEY" "SECOND_OPINION_KEY" "YOUTUBE_API_KEY" "YOUTUBE_OAUTH_CLIENT_ID" "YOUTUBE_OAUTH_CLIENT_SECRET" "TWITCH_CLIENT_ID" "TWITCH_CLIENT_SECRET" "HTTP_PROXY" "HTTPS_PROXY" "EGRESS_PROXIES" -}}
    {{- with index $.Values.secret.values $name -}}{{- $_ := set $keys $name . -}}{{- end -}}
  {{- end -}}
  {{- if eq (get $keys "API_KEY") (get $keys "INTERNAL_API_KEY") -}}
    {{- fail "secret.values.API_KEY and secret.values.INTERNAL_API_KEY are the same; accepted are two different keys: a worker must not be able to use the public API" -}}
  {{- end -}}
  {{- $_ := set .Values.secret "decided" $keys -}}
{{- end -}}
{{- .Values.secret.decided | toJson -}}
{{- end -}}

{{/* Names and addresses of the certificate, in a fixed order. Addresses begin with "IP:". */}}
{{- define "stream-monitor.certificateNames" -}}
{{- $names := list "localhost" -}}
{{- range $service := list (include "stream-monitor.internal" .) (include "stream-monitor.fullname" .) -}}
  {{- $names = concat $names (list $service (printf "%s.%s" $service $.Release.Namespace) (printf "%s.%s.svc" $service $.Release.Namespace) (printf "%s.%s.svc.cluster.local" $service $.Release.Namespace)) -}}
{{- end -}}
{{- range $name := .Values.tls.extraNames -}}
  {{- $names = append $names (ternary (printf "IP:%s" $name) $name (regexMatch "^[0-9.]+$|:" $name)) -}}
{{- end -}}
{{- $names | uniq | join "," -}}
{{- end -}}

{{/*
The certificate authority and the certificate, decided once per rendering. Both are
kept. When the names change, the same authority signs a new certificate, so running
workers still trust the gateway.
*/}}
{{- define "stream-monitor.certificate" -}}
{{- if not (hasKey .Values.tls "decided") -}}
  {{- if not .Values.generate -}}
    {{- fail "tls.existingSecret is missing, and generate is false: name a Secret with tls.crt, tls.key and ca.crt, such as cert-manager's" -}}
  {{- end -}}
  {{- $fullname := include "stream-monitor.fullname" . -}}
  {{- $names := include "stream-monitor.certificateNames" . -}}
  {{- $days := int .Values.tls.validityDays -}}
  {{- $authority := lookup "v1" "Secret" .Release.Namespace (printf "%s-ca" $fullname) -}}
  {{- $there := lookup "v1" "Secret" .Release.Namespace (printf "%s-tls" $fullname) -}}
  {{- $ca := dict -}}
  {{- if $authority -}}
    {{- $ca = buildCustomCert (index $authority.data "tls.crt") (index $authority.data "tls.key") -}}
  {{- else -}}
    {{- $ca = genCA (printf "%s authority" $fullname) $days -}}
  {{- end -}}
  {{- $made := dict "names" $names "caCert" $ca.Cert "caKey" $ca.Key -}}
  {{- if and $authority $there (eq $names (dig "metadata" "annotations" "stream-monitor/names" "" $there)) -}}
    {{- $_ := set $made "cert" (index $there.data "tls.crt" | b64dec) -}}
    {{- $_ := set $made "key" (index $there.data "tls.key" | b64dec) -}}
  {{- else -}}
    {{- $hosts := list -}}
    {{- $addresses := list "127.0.0.1" -}}
    {{- range $name := splitList "," $names -}}
      {{- if hasPrefix "IP:" $name -}}
        {{- $addresses = append $addresses (trimPrefix "IP:" $name) -}}
      {{- else -}}
        {{- $hosts = append $hosts $name -}}
      {{- end -}}
    {{- end -}}
    {{- $cert := genSignedCert (include "stream-monitor.internal" .) $addresses $hosts $days $ca -}}
    {{- $_ := set $made "cert" $cert.Cert -}}
    {{- $_ := set $made "key" $cert.Key -}}
  {{- end -}}
  {{- $_ := set .Values.tls "decided" $made -}}
{{- end -}}
{{- .Values.tls.decided | toJson -}}
{{- end -}}

{{/* Checksum of the Secrets that the gateway reads at its start. */}}
{{- define "stream-monitor.secretChecksum" -}}
{{- $all := list -}}
{{- if .Values.secret.existingSecret -}}
  {{- $all = append $all ((lookup "v1" "Secret" .Release.Namespace .Values.secret.existingSecret).data | default dict) -}}
{{- else -}}
  {{- $all = append $all (include "stream-monitor.keys" .) -}}
{{- end -}}
{{- if and .Values.tls.enabled .Values.tls.existingSecret -}}
  {{- $all = append $all ((lookup "v1" "Secret" .Release.Namespace .Values.tls.existingSecret).data | default dict) -}}
{{- else if .Values.tls.enabled -}}
  {{- $all = append $all (include "stream-monitor.certificate" .) -}}
{{- end -}}
{{- $all | toJson | sha256sum -}}
{{- end -}}
