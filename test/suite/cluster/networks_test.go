//go:build cluster

package cluster_test

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// networks learns which addresses are whose. A node's own counts as a pod's: some
// networks put it in the place of those of its pods.
func (s *site) networks(nodes []object) error {
	networks := strings.Fields(os.Getenv("STREAM_MONITOR_POD_NETWORK"))
	for _, n := range nodes {
		networks = append(networks, n.Spec.PodCIDRs...)
		for _, a := range n.Status.Addresses {
			if at, err := netip.ParseAddr(a.Address); a.Type == "InternalIP" && err == nil {
				s.node = cmp.Or(s.node, a.Address)
				s.pods = append(s.pods, netip.PrefixFrom(at, at.BitLen()))
			}
		}
	}
	for _, network := range networks {
		p, err := netip.ParsePrefix(network)
		if err != nil {
			return fmt.Errorf("the pods' network: %w", err)
		}
		s.pods = append(s.pods, p)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			s.ours = append(s.ours, p)
		}
	}
	return nil
}

// knows tells whether an address is a pod's, a node's or this machine's.
func (s *site) knows(at netip.Addr) bool {
	return slices.ContainsFunc(s.pods, func(p netip.Prefix) bool { return p.Contains(at) }) || s.mine(at)
}

// mine tells whether an address is this machine's.
func (s *site) mine(at netip.Addr) bool {
	return slices.ContainsFunc(s.ours, func(p netip.Prefix) bool { return p.Addr() == at })
}
