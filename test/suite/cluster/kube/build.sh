#!/usr/bin/env bash
# Builds the binaries of a cluster that are missing or of another version than in
# lib.sh. It needs only the Go module proxy. The first build takes 7 minutes on two
# cores. containerd, runc and the network plugins come from Debian.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
mkdir -p "$KUBE_BIN" "$KUBE_SRC"
export CGO_ENABLED=0 GOFLAGS="-mod=mod -buildvcs=false -trimpath"

# build NAME DIR PACKAGE [LDFLAGS] builds a binary into KUBE_BIN, atomically.
build() {
	say "building $1"
	local began=$SECONDS
	(cd "$2" && nice go build -ldflags="-s -w ${4:-}" -o "$KUBE_BIN/$1.new" "$3")
	mv "$KUBE_BIN/$1.new" "$KUBE_BIN/$1"
	say "built $1, $((SECONDS - began)) s"
}

# missing NAME MODULE VERSION succeeds unless a binary was built from this version.
missing() {
	[[ -x $KUBE_BIN/$1 ]] || return 0
	go version -m "$KUBE_BIN/$1" 2>/dev/null |
		awk -v module="$2" -v version="$3" '$2 == module && $3 == version {found = 1} END {exit found}'
}

# Makes a module with one requirement.
module() { # DIR MODULE VERSION
	mkdir -p "$1"
	printf 'module built\n\ngo 1.24.0\n\nrequire %s %s\n' "$2" "$3" >"$1/go.mod"
	rm -f "$1/go.sum"
}

# k8s.io/kubernetes replaces its staging modules by directories of its repository. A
# module that replaces them by their published versions can build it.
kubernetes_module() {
	local dir=$KUBE_SRC/kubernetes gomod
	mkdir -p "$dir"
	gomod=$(cd / && GOFLAGS='' go mod download -json "k8s.io/kubernetes@$K8S_VERSION" | sed -n 's/^\t"GoMod": "\(.*\)",\{0,1\}$/\1/p')
	[[ -f $gomod ]] || fail "the Go module proxy has no k8s.io/kubernetes@$K8S_VERSION"
	published() { sed -n 's#^[[:space:]]*\(k8s\.io/[^ ]*\) => \./staging/.*#\t'"$1"'#p' "$gomod"; }
	{
		printf 'module built\n\n'
		sed -n '/^go /p' "$gomod"
		printf '\nrequire (\n\tk8s.io/kubernetes %s\n' "$K8S_VERSION"
		published "\\1 $staged"
		printf ')\n\nreplace (\n'
		published "\\1 => \\1 $staged"
		printf ')\n'
	} >"$dir/go.mod"
	rm -f "$dir/go.sum"
	cp -r "$here/testdata/cri-clean" "$dir/"
}

staged=v0.${K8S_VERSION#v1.} # version of the staging modules
minor=${K8S_VERSION#v1.} minor=${minor%%.*}
version=k8s.io/component-base/version
flags="-X $version.gitVersion=$K8S_VERSION -X $version.gitMajor=1 -X $version.gitMinor=$minor -X $version.gitTreeState=clean"
prepared=
for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl cri-clean; do
	of=(k8s.io/kubernetes "$K8S_VERSION")
	[[ $name != cri-clean ]] || of=(k8s.io/cri-api "$staged")
	missing $name "${of[@]}" || continue
	[[ -n $prepared ]] || kubernetes_module
	prepared=yes package=k8s.io/kubernetes/cmd/$name
	[[ $name != cri-clean ]] || package=./cri-clean
	build $name "$KUBE_SRC/kubernetes" "$package" "$flags"
done
if missing etcd go.etcd.io/etcd/server/v3 "$ETCD_VERSION"; then
	module "$KUBE_SRC/etcd" go.etcd.io/etcd/server/v3 "$ETCD_VERSION"
	build etcd "$KUBE_SRC/etcd" go.etcd.io/etcd/server/v3
fi
if missing coredns github.com/coredns/coredns "$COREDNS_VERSION"; then
	module "$KUBE_SRC/coredns" github.com/coredns/coredns "$COREDNS_VERSION"
	cp "$here/testdata/coredns/main.go" "$KUBE_SRC/coredns/"
	build coredns "$KUBE_SRC/coredns" .
fi
if missing kube-router github.com/cloudnativelabs/kube-router/v2 "$KUBE_ROUTER_VERSION"; then
	module "$KUBE_SRC/kube-router" github.com/cloudnativelabs/kube-router/v2 "$KUBE_ROUTER_VERSION"
	printf 'require k8s.io/client-go %s\n' "$staged" >>"$KUBE_SRC/kube-router/go.mod"
	cp "$here/testdata/kube-router/main.go" "$KUBE_SRC/kube-router/"
	build kube-router "$KUBE_SRC/kube-router" .
fi
if missing helm helm.sh/helm/v3 "$HELM_VERSION"; then
	module "$KUBE_SRC/helm" helm.sh/helm/v3 "$HELM_VERSION"
	helm=helm.sh/helm/v3 # also sets the default Kubernetes version of "helm template"
	build helm "$KUBE_SRC/helm" $helm/cmd/helm "-X $helm/internal/version.version=$HELM_VERSION \
-X $helm/pkg/chartutil.k8sVersionMajor=1 -X $helm/pkg/chartutil.k8sVersionMinor=$minor \
-X $helm/pkg/lint/rules.k8sVersionMajor=1 -X $helm/pkg/lint/rules.k8sVersionMinor=$minor"
fi

if [[ ! -x $CNI_BIN/bridge ]]; then
	say 'fetching the network plugins'
	mkdir -p "$K8S_HOME/dl"
	if (cd "$K8S_HOME/dl" && { apt-get download containernetworking-plugins || { apt-get update -qq && apt-get download containernetworking-plugins; }; }) >/dev/null 2>&1; then
		dpkg -x "$(find "$K8S_HOME/dl" -name 'containernetworking-plugins_*.deb' | sort | tail -1)" "$K8S_HOME/cni"
	else
		module "$KUBE_SRC/cni" github.com/containernetworking/plugins "$CNI_VERSION"
		mkdir -p "$CNI_BIN"
		for plugin in main/bridge main/loopback ipam/host-local meta/portmap meta/firewall; do
			(cd "$KUBE_SRC/cni" && nice go build -ldflags='-s -w' -o "$CNI_BIN/${plugin#*/}" "github.com/containernetworking/plugins/plugins/$plugin")
		done
	fi
fi

# image FILE NAME PROGRAM makes an image of one static program, in the format of "docker save".
image() {
	local work program=${3##*/}
	work=$(mktemp -d)
	mkdir "$work/layer"
	cp "$3" "$work/layer/"
	tar -C "$work/layer" --owner=0 --group=0 --numeric-owner --mtime=@0 -cf "$work/layer.tar" "$program"
	printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/%s"],"User":"65535:65535"},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"1970-01-01T00:00:00Z"}]}' \
		"$(go env GOARCH)" "$program" "$(sha256sum "$work/layer.tar" | cut -d' ' -f1)" >"$work/config.json"
	printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$2" >"$work/manifest.json"
	tar -C "$work" -cf "$1.new" manifest.json config.json layer.tar
	mv "$1.new" "$1"
	rm -rf "$work"
}
if [[ ! -f $K8S_HOME/pause.tar ]]; then # every pod needs it
	(cd "$here/testdata/pause" && GOFLAGS=-trimpath go build -ldflags='-s -w' -o "$KUBE_SRC/pause" main.go)
	image "$K8S_HOME/pause.tar" "$PAUSE_IMAGE" "$KUBE_SRC/pause"
fi
[[ $K8S_HOME/coredns.tar -nt $KUBE_BIN/coredns ]] || image "$K8S_HOME/coredns.tar" "$COREDNS_IMAGE" "$KUBE_BIN/coredns"
