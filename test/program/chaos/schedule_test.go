//go:build linux

package main

import (
	"testing"
	"time"
)

func TestASeedDecidesTheSchedule(t *testing.T) {
	t.Run("a seed always gives the same schedule", func(t *testing.T) {
		for seed := 1; seed <= 50; seed++ {
			if first, again := generate(seed, allCapabilities).String(), generate(seed, allCapabilities).String(); first != again {
				t.Fatalf("seed %d:\n%s\n%s", seed, first, again)
			}
		}
	})

	t.Run("twenty seeds cover every fault type and every crash point", func(t *testing.T) {
		seen := map[string]int{}
		second := map[string]int{} // crashes of the second gateway
		off := map[time.Duration]int{}
		for seed := 1; seed <= 20; seed++ {
			s := generate(seed, allCapabilities)
			off[s.clockOffset]++
			for _, f := range s.faults {
				seen[f.kind.name]++
			}
			for n, g := range s.gateways {
				for _, c := range g.crashes {
					seen[c.point]++
					second[c.point] += n
				}
			}
		}
		for _, ft := range faultTypes {
			if seen[ft.name] == 0 {
				t.Errorf("no %s", ft.name)
			}
		}
		for _, p := range crashPoints {
			if seen[p.name] == 0 {
				t.Errorf("no crash at %s", p.name)
			}
		}
		for _, point := range []string{"store", "send", "mark", "told", "noted"} {
			if second[point] == 0 {
				t.Errorf("no second gateway crashes at %s", point)
			}
		}
		if off[time.Hour] == 0 || off[-time.Hour] == 0 {
			t.Errorf("offsets of the gateway's clock at its start: %v", off)
		}
	})

	t.Run("twenty seeds cover every operation", func(t *testing.T) {
		seen := map[*operationType]int{}
		left, last := map[channelKind]int{}, map[*operationType]int{}
		for seed := 1; seed <= 20; seed++ {
			s := generate(seed, allCapabilities)
			for _, o := range s.operations {
				seen[o.kind]++
				left[o.channel]++
				if o.at+o.duration > latestRecovery {
					t.Errorf("seed %d: %s at %s", seed, o, o.at)
				}
			}
			last[s.lastOperation]++
		}
		for _, o := range operationTypes {
			if seen[o] == 0 {
				t.Errorf("no %s", o.name)
			}
		}
		for _, kind := range channelKinds {
			if left[kind] == 0 && kind != pagerDutyChannel {
				t.Errorf("%s is never disabled nor taken out of its route", kind)
			}
		}
		if last[nil] == 0 || last[&allSilenced] == 0 || last[&routeChanged] == 0 {
			t.Errorf("the streams end during %v", last)
		}
	})

	t.Run("a third of the seeds have two gateways with wrong clocks, and each is killed in some", func(t *testing.T) {
		two, killed := 0, map[int]int{}
		for seed := 1; seed <= 60; seed++ {
			s := generate(seed, allCapabilities)
			if len(s.gateways) < 2 {
				continue
			}
			two++
			if s.gateways[0].clockOffset == s.gateways[1].clockOffset {
				t.Errorf("seed %d: both clocks are off by %s", seed, s.gateways[0].clockOffset)
			}
			for _, f := range s.faults {
				if f.kind.name == "gateway killed" {
					killed[f.gateway]++
				}
			}
		}
		if two < 20 || two > 30 || killed[0] < 5 || killed[1] < 5 {
			t.Errorf("%d seeds have two gateways, which are killed %v times", two, killed)
		}
	})

	t.Run("a fault that a machine does not allow is replaced and marked", func(t *testing.T) {
		replaced := 0
		for seed := 1; seed <= 40; seed++ {
			for _, f := range generate(seed, capabilities{}).faults {
				if f.kind.requires != nil {
					t.Errorf("seed %d: %s", seed, f)
				}
				if f.replaces != "" {
					replaced++
				}
			}
		}
		if replaced == 0 {
			t.Error("nothing was replaced")
		}
	})

	t.Run("no schedule makes a monitor fail by the rules of the specification", func(t *testing.T) {
		for seed := 1; seed <= 500; seed++ {
			s := generate(seed, allCapabilities)
			lost := map[int]int{}
			for _, f := range s.faults {
				if f.kind.name == "worker killed" {
					lost[f.monitor]++
				}
				if f.kind.component == receiverComponent && f.kind.minDuration < 500*time.Millisecond {
					t.Errorf("seed %d: %s", seed, f)
				}
				if f.at > latestFault+time.Second {
					t.Errorf("seed %d: %s is too late", seed, f)
				}
			}
			for m, n := range lost {
				if n > 3 {
					t.Errorf("seed %d: monitor %d loses its worker %d times", seed, m, n)
				}
			}
			for _, s := range s.scripts {
				for _, spans := range [][]span{s.black, s.silent} {
					for i, k := range spans {
						if k.to-k.from < threshold+time.Second || k.to > latestRecovery || i > 0 && k.from-spans[i-1].to < 3*time.Second {
							t.Errorf("seed %d: %v", seed, spans)
						}
					}
				}
			}
		}
	})
}
