# Shared by the scripts of this folder. The environment overrides every setting.
# shellcheck shell=bash disable=SC2034

# go needs HOME for its build cache.
export HOME=${HOME:-$(awk -F: -v uid="$(id -u)" '$3 == uid {print $6; exit}' /etc/passwd)}
export HOME=${HOME:-/root}

# K8S_HOME keeps binaries between runs. KUBE_DIR has the state of the cluster; its path
# must be short, because it contains sockets.
K8S_HOME=${K8S_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/kube-local}
KUBE_BIN=${KUBE_BIN:-$K8S_HOME/bin}
KUBE_SRC=${KUBE_SRC:-$K8S_HOME/src}
KUBE_DIR=${KUBE_DIR:-$K8S_HOME/run}
CNI_BIN=${CNI_BIN:-$K8S_HOME/cni/usr/lib/cni}

# Upgrade these together: Kubernetes names the version of etcd; CoreDNS and kube-router
# share Kubernetes' client-go and so the build cache.
K8S_VERSION=${K8S_VERSION:-v1.34.2}
ETCD_VERSION=${ETCD_VERSION:-v3.6.4}
COREDNS_VERSION=${COREDNS_VERSION:-v1.13.2}
KUBE_ROUTER_VERSION=${KUBE_ROUTER_VERSION:-v2.1.0}
HELM_VERSION=${HELM_VERSION:-v3.22.0}
CNI_VERSION=${CNI_VERSION:-v1.7.1}

POD_CIDR=${POD_CIDR:-10.244.0.0/24}
SVC_CIDR=${SVC_CIDR:-10.96.0.0/16}
API_IP=${API_IP:-10.96.0.1}
DNS_IP=${DNS_IP:-10.96.0.10}
DOMAIN=cluster.local
BRIDGE=${BRIDGE:-kcni0}
NODE=${NODE_NAME:-$(hostname | tr 'A-Z_' 'a-z-')}
API_PORT=${API_PORT:-6443}
ETCD_PORT=${ETCD_PORT:-12379}
ETCD_PEER_PORT=${ETCD_PEER_PORT:-12380}
PAUSE_IMAGE=localhost/kube-pause:1
COREDNS_IMAGE=localhost/kube-coredns:$COREDNS_VERSION

PIDS=$KUBE_DIR/pids LOGS=$KUBE_DIR/logs PKI=$KUBE_DIR/pki CONF=$KUBE_DIR/conf
CRI=$KUBE_DIR/containerd.sock
ADMIN=$KUBE_DIR/kubeconfig

say() { printf 'cluster: %s\n' "$*" >&2; }
fail() {
	say "$*"
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Prints the pid of a daemon of this cluster. Fails when it does not run, or when
# another program has its pid.
alive() {
	local pid exe
	pid=$(cat "$PIDS/$1.pid" 2>/dev/null) && [[ -n $pid ]] || return 1
	exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || return 1
	[[ $(basename "${exe% (deleted)}") == "$1" ]] || return 1
	{ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF "$KUBE_DIR" || return 1
	echo "$pid"
}

# Succeeds when a daemon of this cluster runs.
running() {
	local name
	for name in etcd containerd kube-apiserver kubelet; do alive $name >/dev/null && return; done
	return 1
}

ctr_k8s() { ctr -a "$CRI" -n k8s.io "$@"; }
