//go:build linux

package main

import (
	"testing"
	"time"
)

func TestPlans(t *testing.T) {
	t.Run("a seed always gives the same plan", func(t *testing.T) {
		for seed := 1; seed <= 50; seed++ {
			if a, b := generate(seed, allCapabilities).String(), generate(seed, allCapabilities).String(); a != b {
				t.Fatalf("seed %d:\n%s\n%s", seed, a, b)
			}
		}
	})

	t.Run("twenty seeds have every kind of fault and every crash point", func(t *testing.T) {
		met := map[string]int{}
		off := map[time.Duration]int{}
		for seed := 1; seed <= 20; seed++ {
			s := generate(seed, allCapabilities)
			off[s.clockOffset]++
			for _, f := range s.faults {
				met[f.kind.name]++
			}
			for _, c := range s.crashes {
				met[c.point]++
			}
		}
		for _, ft := range faultTypes {
			if met[ft.name] == 0 {
				t.Errorf("no %s", ft.name)
			}
		}
		for _, p := range crashPoints {
			if met[p.name] == 0 {
				t.Errorf("no crash at %s", p.name)
			}
		}
		if off[time.Hour] == 0 || off[-time.Hour] == 0 {
			t.Errorf("the gateway's clock is off from its start this often: %v", off)
		}
	})

	t.Run("what a machine does not allow is replaced, and said", func(t *testing.T) {
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

	t.Run("a plan asks for nothing that the specification answers with an error", func(t *testing.T) {
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
