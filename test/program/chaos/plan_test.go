//go:build linux

package main

import (
	"testing"
	"time"
)

func TestPlans(t *testing.T) {
	t.Run("a seed always gives the same plan", func(t *testing.T) {
		for seed := 1; seed <= 50; seed++ {
			if a, b := draw(seed, everything).String(), draw(seed, everything).String(); a != b {
				t.Fatalf("seed %d:\n%s\n%s", seed, a, b)
			}
		}
	})

	t.Run("twenty seeds have every kind of fault and every crash point", func(t *testing.T) {
		met := map[string]int{}
		off := map[time.Duration]int{}
		for seed := 1; seed <= 20; seed++ {
			p := draw(seed, everything)
			off[p.clock]++
			for _, s := range p.strikes {
				met[s.kind.name]++
			}
			for _, c := range p.crashes {
				met[c.point]++
			}
		}
		for _, k := range kinds {
			if met[k.name] == 0 {
				t.Errorf("no %s", k.name)
			}
		}
		for _, p := range points {
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
			for _, s := range draw(seed, ability{}).strikes {
				if s.kind.needs != nil {
					t.Errorf("seed %d: %s", seed, s)
				}
				if s.instead != "" {
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
			p := draw(seed, everything)
			lost := map[int]int{}
			for _, s := range p.strikes {
				if s.kind.name == "worker killed" {
					lost[s.monitor]++
				}
				if s.kind.subject == receiverSubject && s.kind.least < 500*time.Millisecond {
					t.Errorf("seed %d: %s", seed, s)
				}
				if s.at > lastStrike+time.Second {
					t.Errorf("seed %d: %s is too late", seed, s)
				}
			}
			for m, n := range lost {
				if n > 3 {
					t.Errorf("seed %d: monitor %d loses its worker %d times", seed, m, n)
				}
			}
			for _, s := range p.scripts {
				for _, spans := range [][]span{s.black, s.silent} {
					for i, k := range spans {
						if k.to-k.from < threshold+time.Second || k.to > lastEnd || i > 0 && k.from-spans[i-1].to < 3*time.Second {
							t.Errorf("seed %d: %v", seed, spans)
						}
					}
				}
			}
		}
	})
}
