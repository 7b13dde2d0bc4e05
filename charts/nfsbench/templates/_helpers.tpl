{{- define "nfsbench.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "nfsbench.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "nfsbench.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "nfsbench.selector" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Annotations and labels of an object; a template may add labels behind it. */}}
{{- define "nfsbench.meta" -}}
{{- with .Values.commonAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{ end -}}
labels:
  {{- include "nfsbench.labels" . | nindent 2 }}
{{- end -}}

{{/* The command that changes values of the release, without the values, for messages of the policy. CHART is where
     the administrator has the chart. */}}
{{- define "nfsbench.upgrade" -}}
helm upgrade {{ .Release.Name }} CHART --version {{ .Chart.Version }} -n {{ .Release.Namespace }} --reuse-values
{{- end -}}

{{/* The command that prints the values of the release. */}}
{{- define "nfsbench.values" -}}
helm get values {{ .Release.Name }} -n {{ .Release.Namespace }} -o json
{{- end -}}

{{- define "nfsbench.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "nfsbench.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "set serviceAccount.name: serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* An image reference of (dict "root" $ "image" VALUES). */}}
{{- define "nfsbench.image" -}}
{{- $values := .root.Values -}}
{{- $name := list (default $values.image.registry $values.global.imageRegistry) .image.repository | compact | join "/" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The namespaces of scope "namespaces", as JSON. */}}
{{- define "nfsbench.namespaces" -}}
{{- .Values.rbac.namespaces | default (list .Release.Namespace) | uniq | toJson -}}
{{- end -}}

{{/*
"true" when metrics are served. Secure serving asks the API server about each
reader, which needs a ClusterRole; so it cannot be had in scope "namespaces".
*/}}
{{- define "nfsbench.metrics" -}}
{{- if and .Values.metrics.enabled (or .Values.metrics.insecure (eq .Values.rbac.scope "cluster")) -}}true{{- end -}}
{{- end -}}

{{/*
The rules that the controllers need, as YAML. files/manager-role.yaml is
generated from the markers in their source. Of (dict "Files" .Files
"namespaced" BOOL "suites" BOOL): namespaced leaves out what no Role can grant,
and without suites nothing of them or of Argo is granted.
*/}}
{{- define "nfsbench.rules" -}}
{{- $rules := list -}}
{{- range (.Files.Get "files/manager-role.yaml" | fromYaml).rules -}}
{{- $resources := .resources -}}
{{- if $.namespaced -}}
{{- $resources = without .resources "persistentvolumes" "storageclasses" -}}
{{- end -}}
{{- if not $.suites -}}
{{- $resources = without $resources "nfsbenchmarksuites" "nfsbenchmarksuites/status" "nfsbenchmarksuites/finalizers" -}}
{{- if has "argoproj.io" .apiGroups -}}
{{- $resources = list -}}
{{- end -}}
{{- end -}}
{{- if $resources -}}
{{- $rules = append $rules (dict "apiGroups" .apiGroups "resources" $resources "verbs" .verbs) -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* A value as a CEL literal. Lists and maps of CEL have members of one type, hence dyn. */}}
{{- define "nfsbench.cel" -}}
{{- if kindIs "map" . -}}
{{- $members := list -}}
{{- range $name, $value := . -}}
{{- $members = append $members (printf "%s: dyn(%s)" (toJson $name) (include "nfsbench.cel" $value)) -}}
{{- end -}}
{ {{- join ", " $members -}} }
{{- else if kindIs "slice" . -}}
{{- $members := list -}}
{{- range . -}}
{{- $members = append $members (printf "dyn(%s)" (include "nfsbench.cel" .)) -}}
{{- end -}}
[ {{- join ", " $members -}} ]
{{- else if kindIs "float64" . -}}
{{ . | int64 }}
{{- else -}}
{{ toJson . }}
{{- end -}}
{{- end -}}
