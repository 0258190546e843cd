// Package cluster tests the Helm chart on a real Kubernetes cluster. "make
// test-cluster" starts a cluster if none is given (kube/), loads the image and runs
// the tests (run.sh).
//
//	this machine                                    the cluster
//	livestream ──▶ youtube ◀── proxy, CA ────────── worker pods ──▶ internal Service ──▶ gateways
//	webhookreceiver ◀────────── webhooks ──────────────────────────────────────────────────┤
//	PostgreSQL ◀────────────────────────────────────────────────────────────────────────────┤
//	the tests ───────────────── REST ──▶ NodePort ──────────────────────────────────────────┘
//
// The fakes and the database run on this machine, at an address that pods reach.
// So the tests drain, kill and uninstall the release alone. The database needs no
// password; it accepts connections from pods, nodes and this machine only.
//
// The tests have the build tag cluster. They need kubectl and helm in PATH, and
// these variables:
//
//	STREAM_MONITOR_TEST_KUBECONFIG  kubeconfig of the cluster; its nodes must reach this
//	                                machine
//	STREAM_MONITOR_IMAGE            the image, with its tag; it must be in the cluster
//	STREAM_MONITOR_NEXT_IMAGE       another image to upgrade to; likewise
//	STREAM_MONITOR_HOST             this machine's address as pods reach it; default: the
//	                                address in the network of the first node
//	STREAM_MONITOR_POD_NETWORK      network of the pods, a CIDR; default: from the nodes
//
// KUBECONFIG is ignored, because it may name a production cluster. The tests whose names
// begin with TestTheChart only render the chart: "make test-chart" runs them without a
// cluster.
package cluster
