#!/usr/bin/env bash
# Starts a real Kubernetes on this machine, as root and without a registry: etcd, API
# server, controllers, scheduler, containerd and runc, kubelet, kube-proxy, CoreDNS, and
# kube-router, which enforces NetworkPolicies. Daemons that run already are left alone.
# Prints the path of the kubeconfig.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
(unset STREAM_MONITOR_TEST_KUBECONFIG && "$here/able.sh")
((${#CRI} <= 90)) || fail "KUBE_DIR is too long for a socket's path: $KUBE_DIR"
began=$SECONDS

# build.sh unpacks the network plugins; the other tools are installed here.
packages=()
have containerd && have runc || packages+=(containerd runc)
have iptables || packages+=(iptables)
have ipset || packages+=(ipset)
have openssl || packages+=(openssl)
have ip && have ss || packages+=(iproute2)
have curl || packages+=(curl)
have sysctl || packages+=(procps)
if ((${#packages[@]})); then
	say "installing ${packages[*]}"
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${packages[@]}"; } >/dev/null
fi
"$here/build.sh"
mkdir -p "$PIDS" "$LOGS" "$PKI" "$CONF/pods" "$KUBE_DIR/cni/net.d" "$KUBE_DIR/etcd" "$KUBE_DIR/kubelet"
chmod 700 "$PKI" "$KUBE_DIR/etcd"
export PATH="$KUBE_BIN:$PATH" KUBECONFIG=$ADMIN

NODE_IP=${NODE_IP:-$(ip -4 -o route get 192.0.2.254 2>/dev/null | sed -n 's/.* src \([0-9.]*\).*/\1/p')}
NODE_IP=${NODE_IP:-$(ip -4 -o addr show scope global | awk '{sub("/.*", "", $4); print $4; exit}')}
[[ -n $NODE_IP ]] || fail 'this machine has no IPv4 address; set NODE_IP'
device=$(ip -4 -o addr show | awk -v ip="$NODE_IP" 'index($4, ip "/") == 1 {print $2; exit}')
mtu=$(cat "/sys/class/net/$device/mtu" 2>/dev/null || echo 1500)

# start NAME "PORT..." ARGUMENT... starts a daemon unless it runs.
start() {
	local name=$1 ports=$2 port
	shift 2
	alive "$name" >/dev/null && return
	for port in $ports; do
		[[ -z $(ss -Hltn "sport = :$port" 2>/dev/null) ]] || fail "$name needs port $port, which is taken"
	done
	setsid nohup "$(command -v "$name")" "$@" >>"$LOGS/$name.log" 2>&1 </dev/null &
	echo $! >"$PIDS/$name.pid"
	# Until setsid and nohup have become the daemon, it would seem to have ended.
	while kill -0 $! 2>/dev/null && ! alive "$name" >/dev/null; do sleep 0.05; done
}

# put FILE writes standard input to FILE if the content differs.
put() {
	local text
	text=$(cat)
	[[ $text == "$(cat "$1" 2>/dev/null)" ]] || printf '%s\n' "$text" >"$1"
}

# await NAME SECONDS COMMAND... waits until the command succeeds.
await() {
	local name=$1 tries=$(($2 * 5))
	shift 2
	until "$@" >/dev/null 2>&1; do
		alive "$name" >/dev/null || fail "$name has ended: $(tail -n 3 "$LOGS/$name.log")"
		((tries-- > 0)) || fail "$name does not become ready; its log is $LOGS/$name.log"
		sleep 0.2
	done
}

# --- Certificates. They are kept until an address changes.
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$PKI/$1.key" 2>/dev/null; }
authority() { # NAME SUBJECT
	key "$1"
	openssl req -x509 -new -key "$PKI/$1.key" -sha256 -days 3650 -subj "$2" -out "$PKI/$1.crt" 2>/dev/null
}
certificate() { # NAME SUBJECT USAGE [NAMES] [AUTHORITY]
	key "$1"
	printf 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=%s\n%s\n' "$3" "${4:+subjectAltName=$4}" >"$PKI/extensions"
	openssl req -new -key "$PKI/$1.key" -subj "$2" 2>/dev/null |
		openssl x509 -req -sha256 -days 3650 -CA "$PKI/${5:-ca}.crt" -CAkey "$PKI/${5:-ca}.key" -set_serial "0x$(openssl rand -hex 8)" \
			-extfile "$PKI/extensions" -out "$PKI/$1.crt" 2>/dev/null
}
names="DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.$DOMAIN,DNS:localhost,DNS:$NODE,IP:127.0.0.1,IP:$API_IP,IP:$NODE_IP"
if [[ $(cat "$PKI/stamp" 2>/dev/null) != "$names" ]]; then
	if [[ ! -f $PKI/ca.crt ]]; then
		authority ca /CN=kubernetes-ca
		authority front-ca /CN=front-proxy-ca
		key sa
		openssl ec -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub" 2>/dev/null
	fi
	certificate apiserver /CN=kube-apiserver serverAuth "$names"
	certificate apiserver-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
	certificate kubelet-server "/O=system:nodes/CN=system:node:$NODE" serverAuth "DNS:$NODE,IP:$NODE_IP,IP:127.0.0.1"
	certificate admin /O=system:masters/CN=kubernetes-admin clientAuth
	certificate kubelet "/O=system:nodes/CN=system:node:$NODE" clientAuth
	certificate kcm /CN=system:kube-controller-manager clientAuth
	certificate scheduler /CN=system:kube-scheduler clientAuth
	certificate proxy /CN=system:kube-proxy clientAuth
	certificate coredns /CN=system:coredns clientAuth
	certificate router /CN=system:kube-router clientAuth
	certificate front-client /CN=front-proxy-client clientAuth '' front-ca
	echo "$names" >"$PKI/stamp"
fi
kubeconfig() ( # CERTIFICATE FILE HOST; in a subshell, so that the daemons do not inherit the umask
	umask 077
	cat >"$2" <<-Y
		apiVersion: v1
		kind: Config
		clusters: [{name: local, cluster: {server: "https://$3:$API_PORT", certificate-authority-data: $(base64 -w0 "$PKI/ca.crt")}}]
		users: [{name: "$1", user: {client-certificate-data: $(base64 -w0 "$PKI/$1.crt"), client-key-data: $(base64 -w0 "$PKI/$1.key")}}]
		contexts: [{name: local, context: {cluster: local, user: "$1"}}]
		current-context: local
	Y
)
for who in kubelet kcm scheduler proxy router; do kubeconfig $who "$CONF/$who.kubeconfig" 127.0.0.1; done
kubeconfig coredns "$CONF/coredns.kubeconfig" "$NODE_IP"
kubeconfig admin "$ADMIN" "$NODE_IP"

# --- The kernel's settings; down.sh puts them back. Without br_netfilter, iptables would not
# see what one pod sends to another.
modprobe -q br_netfilter 2>/dev/null || true
if [[ ! -f $KUBE_DIR/sysctl.before ]]; then
	for setting in net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables net.ipv4.conf.all.route_localnet vm.overcommit_memory \
		vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes; do
		value=$(sysctl -n $setting 2>/dev/null) && echo "$setting=$value"
	done >"$KUBE_DIR/sysctl.before" || true
fi
sysctl -qw net.ipv4.ip_forward=1
sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true

# --- etcd, without fsync: only test data could be lost.
at=http://127.0.0.1
start etcd "$ETCD_PORT $ETCD_PEER_PORT" --name default --data-dir "$KUBE_DIR/etcd" --unsafe-no-fsync --log-level warn \
	--listen-client-urls $at:"$ETCD_PORT" --advertise-client-urls $at:"$ETCD_PORT" \
	--listen-peer-urls $at:"$ETCD_PEER_PORT" --initial-advertise-peer-urls $at:"$ETCD_PEER_PORT" --initial-cluster default=$at:"$ETCD_PEER_PORT"

# --- containerd, with its own directories. Without restrict_oom_score_adj no pod would
# start where root may not lower oom_score_adj.
cat >"$CONF/containerd.toml" <<T
version = 2
root = "$KUBE_DIR/containerd/root"
state = "$KUBE_DIR/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "$CRI"
[plugins."io.containerd.internal.v1.opt"]
  path = "$KUBE_DIR/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  disable_tcp_service = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$CNI_BIN"
    conf_dir = "$KUBE_DIR/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        Root = "$KUBE_DIR/containerd/runc"
T
cat >"$KUBE_DIR/cni/net.d/10-k8s.conflist" <<J
{ "cniVersion": "0.4.0", "name": "k8s", "plugins": [
  { "type": "bridge", "bridge": "$BRIDGE", "isGateway": true, "ipMasq": true, "hairpinMode": true, "mtu": $mtu,
    "ipam": { "type": "host-local", "dataDir": "$KUBE_DIR/cni/ipam", "ranges": [[{ "subnet": "$POD_CIDR" }]], "routes": [{ "dst": "0.0.0.0/0" }] } },
  { "type": "portmap", "capabilities": { "portMappings": true }, "snat": true },
  { "type": "firewall", "backend": "iptables" } ] }
J
start containerd '' --config "$CONF/containerd.toml"

# --- The API server.
await etcd 30 curl -fsS $at:"$ETCD_PORT"/health
start kube-apiserver "$API_PORT" --etcd-servers=$at:"$ETCD_PORT" --advertise-address="$NODE_IP" --secure-port="$API_PORT" \
	--service-cluster-ip-range="$SVC_CIDR" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
	--client-ca-file="$PKI/ca.crt" --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" \
	--kubelet-client-certificate="$PKI/apiserver-kubelet.crt" --kubelet-client-key="$PKI/apiserver-kubelet.key" \
	--kubelet-certificate-authority="$PKI/ca.crt" --kubelet-preferred-address-types=InternalIP,Hostname \
	--service-account-issuer="https://kubernetes.default.svc.$DOMAIN" --service-account-key-file="$PKI/sa.pub" --service-account-signing-key-file="$PKI/sa.key" \
	--requestheader-client-ca-file="$PKI/front-ca.crt" --requestheader-allowed-names=front-proxy-client --requestheader-username-headers=X-Remote-User \
	--requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
	--proxy-client-cert-file="$PKI/front-client.crt" --proxy-client-key-file="$PKI/front-client.key" --profiling=false --v=1
await containerd 30 ctr_k8s version
for image in "$PAUSE_IMAGE" "$COREDNS_IMAGE"; do
	file=${image#localhost/kube-}
	ctr_k8s images ls -q | grep -qxF "$image" || ctr_k8s images import "$K8S_HOME/${file%%:*}.tar" >/dev/null
done
kc() { kubectl --request-timeout=10s "$@"; }
await kube-apiserver 120 kc get --raw /readyz
kc apply -f - >/dev/null <<Y
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:coredns"}
rules:
  - {apiGroups: [""], resources: [endpoints, services, pods, namespaces], verbs: [list, watch]}
  - {apiGroups: [""], resources: [nodes], verbs: [get]}
  - {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:coredns"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:coredns"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:coredns"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:kube-router"}
rules:
  - {apiGroups: [""], resources: [pods, namespaces], verbs: [list, watch]}
  - {apiGroups: [""], resources: [nodes], verbs: [get]}
  - {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:kube-router"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:kube-router"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:kube-router"}]
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system, labels: {k8s-app: kube-dns}}
spec:
  clusterIP: $DNS_IP
  selector: {k8s-app: kube-dns}
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
Y

# --- Controllers and scheduler.
start kube-controller-manager 10257 --kubeconfig="$CONF/kcm.kubeconfig" --authentication-kubeconfig="$CONF/kcm.kubeconfig" --authorization-kubeconfig="$CONF/kcm.kubeconfig" \
	--bind-address=127.0.0.1 --leader-elect=false --use-service-account-credentials=true --root-ca-file="$PKI/ca.crt" \
	--service-account-private-key-file="$PKI/sa.key" --cluster-cidr="$POD_CIDR" --service-cluster-ip-range="$SVC_CIDR" --allocate-node-cidrs=false --profiling=false --v=1
start kube-scheduler 10259 --kubeconfig="$CONF/scheduler.kubeconfig" --authentication-kubeconfig="$CONF/scheduler.kubeconfig" --authorization-kubeconfig="$CONF/scheduler.kubeconfig" \
	--bind-address=127.0.0.1 --leader-elect=false --profiling=false --v=1

# --- CoreDNS, in a pod: NetworkPolicies know name servers as pods. It is a static pod, so
# that no drain evicts it.
cat >"$CONF/Corefile" <<C
.:53 {
    errors
    ready
    kubernetes $DOMAIN in-addr.arpa ip6.arpa {
        kubeconfig /etc/coredns/kubeconfig
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 5
    }
    forward . /etc/resolv.conf
    cache 5
    loadbalance
}
C
put "$CONF/pods/coredns.yaml" <<Y
apiVersion: v1
kind: Pod
metadata: {name: coredns, namespace: kube-system, labels: {k8s-app: kube-dns}}
spec:
  dnsPolicy: Default
  containers:
    - name: coredns
      image: $COREDNS_IMAGE
      args: [-conf, /etc/coredns/Corefile]
      securityContext: {runAsUser: 0} # for port 53, and for the kubeconfig
      readinessProbe: {httpGet: {path: /ready, port: 8181}, periodSeconds: 1}
      volumeMounts: [{name: corefile, mountPath: /etc/coredns/Corefile}, {name: kubeconfig, mountPath: /etc/coredns/kubeconfig}]
  volumes:
    - {name: corefile, hostPath: {path: $CONF/Corefile, type: File}}
    - {name: kubeconfig, hostPath: {path: $CONF/coredns.kubeconfig, type: File}}
Y

# --- The kubelet. It never removes images, because they cannot be pulled again.
v1=
[[ -f /sys/fs/cgroup/cgroup.controllers ]] || v1='failCgroupV1: false'
cat >"$CONF/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
$v1
failSwapOn: false
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix://$CRI
imageServiceEndpoint: unix://$CRI
podLogsDir: $KUBE_DIR/pod-logs
staticPodPath: $CONF/pods
volumePluginDir: $KUBE_DIR/kubelet/volume-exec
resolvConf: /etc/resolv.conf
clusterDNS: [$DNS_IP]
clusterDomain: $DOMAIN
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $PKI/kubelet-server.crt
tlsPrivateKeyFile: $PKI/kubelet-server.key
address: $NODE_IP
healthzBindAddress: 127.0.0.1
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
logging: {verbosity: 1}
Y
oom=-999
sh -c 'echo -999 >/proc/self/oom_score_adj' 2>/dev/null || oom=0
start kubelet '10250 10248' --oom-score-adj=$oom --config="$CONF/kubelet.yaml" --kubeconfig="$CONF/kubelet.kubeconfig" --root-dir="$KUBE_DIR/kubelet" \
	--hostname-override="$NODE" --node-ip="$NODE_IP" --cert-dir="$PKI/kubelet-run"

# --- Services. kube-proxy exits when its configuration file is written.
put "$CONF/proxy.yaml" <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $CONF/proxy.kubeconfig}
hostnameOverride: $NODE
clusterCIDR: $POD_CIDR
mode: iptables
metricsBindAddress: 127.0.0.1:10249
healthzBindAddress: 127.0.0.1:10256
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
Y
start kube-proxy '10249 10256' --config="$CONF/proxy.yaml"

# Ready as reported by this kubelet, not by an earlier one whose report is in etcd.
node_ready() {
	local since ready heard
	since=$(stat -c %Y "$PIDS/kubelet.pid")
	read -r ready heard < <(kc get node "$NODE" -o 'jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime}{end}{"\n"}') || return 1
	[[ $ready == True ]] && (($(date -d "$heard" +%s) >= since))
}
await kubelet 120 node_ready
await kube-controller-manager 30 kc -n default get serviceaccount default
await kube-proxy 30 curl -fsS $at:10256/healthz

# --- NetworkPolicies. kube-router ends where its node does not exist. It puts its own rule
# for what they allow to the end of its chain once all policies are enforced.
start kube-router '' --kubeconfig="$CONF/router.kubeconfig" --hostname-override="$NODE" --service-cluster-ip-range="$SVC_CIDR"
enforced() { iptables -w 5 -S KUBE-ROUTER-FORWARD | grep -q 'mark 0x20000/0x20000 -j ACCEPT'; }
await kube-router 30 enforced
await kubelet 60 timeout 1 bash -c ": </dev/tcp/$DNS_IP/53" # CoreDNS, through its Service
say "Kubernetes $K8S_VERSION is ready, $((SECONDS - began)) s; kubectl and helm are in $KUBE_BIN"
echo "$ADMIN"
