// Package cluster proves the Helm chart on a real Kubernetes: "make test-cluster"
// brings one up if there is none (kube/), loads the image, and plays.
//
//	this machine                                    the cluster
//	livestream ──▶ youtube ◀── proxy, CA ────────── worker pods ──▶ internal Service ──▶ gateways
//	sink ◀───────────────────── webhooks ──────────────────────────────────────────────────┤
//	PostgreSQL ◀────────────────────────────────────────────────────────────────────────────┤
//	the play, clients ────────── REST ──▶ NodePort ─────────────────────────────────────────┘
//
// The stand-ins and the database are on this machine, at an address that pods
// reach: what is drained, killed and uninstalled is the release and nothing else.
// The database asks for no password; it is reached from pods, nodes and this
// machine alone.
//
// Its tests have the build tag cluster. They want kubectl and helm in PATH, and in
// the environment:
//
//	STREAM_MONITOR_TEST_KUBECONFIG  how to reach the cluster, whose nodes must reach
//	                                this machine
//	STREAM_MONITOR_IMAGE            the image, with its tag, which must be in the cluster
//	STREAM_MONITOR_NEXT_IMAGE       another, likewise, to upgrade to
//	STREAM_MONITOR_HOST             this machine's address as pods see it; default: the
//	                                one in the network of the first node
//	STREAM_MONITOR_POD_NETWORK      where pods are, a CIDR; default: what nodes say
//
// What KUBECONFIG names is not touched: it may be a cluster that works for its
// living.
package cluster
