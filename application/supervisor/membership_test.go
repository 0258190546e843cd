package supervisor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// takeoverLimit is the longest time from a gateway's death to the launch of the last of 500 workers
// that take over. The promise is 10 s to its first check.
const takeoverLimit = 7 * time.Second

// Decisions O2, O3 and O5.
func TestMonitorsOfADeadGatewayAreTakenOver(t *testing.T) {
	for after, monitors := range map[time.Duration]int{0: 500, 200 * time.Millisecond: 20, 550 * time.Millisecond: 20, 990 * time.Millisecond: 20} {
		scenario(t, fmt.Sprintf("%d within 7 s, %v after a heartbeat", monitors, after), func(t *testing.T) {
			c, a, b := newPair(t, monitors)
			c.advance(after)
			a.kill()
			if took := c.waitWatched(takeoverLimit); took < 3*time.Second {
				t.Errorf("watched again after %v, want 3 to 7 s", took)
			}
			b.expectLaunches(monitors)
			c.advance(time.Minute)
			b.expectLaunches(monitors)
			if log := b.log.String(); strings.Count(log, "the other gateways take over its monitors") != 1 {
				t.Errorf("the log says:\n%.1000s", log)
			}
		})
	}

	scenario(t, "20 within 12 s, though an exchange with the database fails meanwhile", func(t *testing.T) {
		c, a, b := newPair(t, 20)
		a.kill()
		c.advance(1500 * time.Millisecond)
		b.disconnect()
		c.advance(time.Second)
		b.resume()
		c.waitWatched(9500 * time.Millisecond)
		b.expectLaunches(20)
	})

	scenario(t, "their workers start one after the other", func(t *testing.T) {
		c, a, b := newPair(t, 500)
		a.kill()
		for c.watchedAt()[b.name] == 0 {
			c.advance(50 * time.Millisecond)
		}
		c.advance(time.Second)
		if at := c.watchedAt()[b.name]; at < 200 || at > 300 {
			t.Errorf("after a second %d of 500 are watched", at)
		}
	})

	scenario(t, "two gateways that survive share them, without the leader", func(t *testing.T) {
		c := newCluster(t, 500, 3)
		c.gateways[0].kill()
		c.elect("nobody")
		c.waitWatched(takeoverLimit)
		at := c.watchedAt()
		for _, g := range c.gateways[1:] {
			if at[g.name] < 200 {
				t.Errorf("watched at %v, want about as many at each", at)
			}
			g.expectLaunches(at[g.name]) // nobody launched what the other had taken
		}
	})

	scenario(t, "a gateway that hangs is replaced, and launches nothing when it goes on", func(t *testing.T) {
		c, a, b := newPair(t, 20)
		a.suspend()
		c.advance(takeoverLimit)
		b.expectLaunches(20)
		c.advance(time.Minute)
		a.resume()
		c.advance(20 * time.Second)
		if all, _ := a.launcher.Workers(t.Context()); len(all) > 0 {
			t.Errorf("%d of its workers run", len(all))
		}
		c.advance(time.Minute)
		b.expectLaunches(20)
		b.expectWatched(20)
	})

	for name, outage := range map[string]bool{"too": false, "if the database was away when it died, too": true} {
		scenario(t, "under the policy error, "+name, func(t *testing.T) {
			c, _, _ := newPair(t, 20)
			c.policy = supervisor.EndMonitor
			a, b := c.addAt("c", "mon-a"), c.start("d")
			c.elect("d")
			c.advance(20 * time.Second)
			for _, g := range c.gateways {
				if outage {
					g.disconnect()
				}
			}
			a.kill()
			if outage {
				c.advance(time.Minute)
				for _, g := range c.gateways {
					g.resume()
				}
				c.advance(50 * time.Second)
			}
			c.advance(takeoverLimit + 3*time.Second)
			b.expectActive("mon-a")
			if at := c.store.get("mon-a").RuntimeID; at == "c" {
				t.Errorf("it is still at the dead gateway")
			}
		})
	}

	scenario(t, "a gateway that dies soon after another one leaves both to the third", func(t *testing.T) {
		c := newCluster(t, 100, 3)
		c.gateways[0].kill()
		c.advance(1500 * time.Millisecond)
		c.gateways[1].kill()
		c.waitWatched(takeoverLimit)
		c.gateways[2].expectLaunches(100)
	})

	scenario(t, "a gateway that has not seen the dead one alive delays nothing for long", func(t *testing.T) {
		c, a, _ := newPair(t, 100)
		a.kill()
		c.advance(time.Second)
		c.start(runtimeID(2))
		c.waitWatched(8 * time.Second)
	})

	scenario(t, "a monitor whose takeover fails is taken over at the next comparison", func(t *testing.T) {
		c, a, b := newPair(t, 20)
		failing := c.all()[0].ID
		c.store.set(func(s *database) { s.failingID = failing })
		a.kill()
		c.advance(takeoverLimit)
		b.expectWatched(19)
		c.store.set(func(s *database) { s.failingID = "" })
		c.advance(5 * time.Second)
		b.expectWatched(20)
	})
}

func TestNoMonitorIsTakenOverWithoutNeed(t *testing.T) {
	// quiet is a scenario of two gateways, at the end of which neither has launched more workers.
	quiet := func(name string, f func(c *cluster, a, b *inlineGateway)) {
		scenario(t, name, func(t *testing.T) {
			c, a, b := newPair(t, 20)
			f(c, a, b)
			a.expectLaunches(20)
			b.expectLaunches(0)
		})
	}

	quiet("when the database was away for a minute and one gateway reaches it later", func(c *cluster, a, b *inlineGateway) {
		a.disconnect()
		b.disconnect()
		c.advance(time.Minute)
		b.resume()
		c.advance(15 * time.Second)
		a.resume()
		c.advance(time.Minute)
	})

	quiet("when the database restarts again and again", func(c *cluster, a, b *inlineGateway) {
		for range 20 {
			a.disconnect()
			b.disconnect()
			c.advance(3 * time.Second)
			b.resume()
			c.advance(2 * time.Second)
			a.resume()
			c.advance(2500 * time.Millisecond)
		}
	})

	quiet("when a gateway loses its connection for a moment", func(c *cluster, a, _ *inlineGateway) {
		for range 20 {
			a.disconnect()
			c.advance(2700 * time.Millisecond)
			a.resume()
			c.advance(1300 * time.Millisecond)
		}
	})

	quiet("when the gateway that looks was suspended", func(c *cluster, _, b *inlineGateway) {
		b.suspend()
		c.advance(time.Minute)
		b.resume()
		c.advance(time.Minute)
	})

	quiet("when all gateways were suspended", func(c *cluster, a, b *inlineGateway) {
		a.suspend()
		b.suspend()
		c.advance(time.Hour)
		b.resume()
		c.advance(2 * time.Second)
		a.resume()
		c.advance(time.Minute)
	})

	quiet("while a gateway stops", func(c *cluster, a, _ *inlineGateway) {
		a.sup.BeginShutdown()
		a.leave()
		c.advance(25 * time.Second) // its workers end meanwhile
	})

	quiet("when the database was away while a gateway stopped", func(c *cluster, a, b *inlineGateway) {
		a.disconnect()
		b.disconnect()
		a.leave()
		c.advance(10 * time.Second)
		a.resume()
		b.resume()
		c.advance(20 * time.Second)
	})
}

func TestAGatewayThatStartsAgainWithoutHeartbeatsKeepsItsWorkers(t *testing.T) {
	scenario(t, "because its workers outlive it now", func(t *testing.T) {
		c, first, _ := newPair(t, 20)
		first.kill()
		c.advance(takeoverLimit + time.Second)
		first.end()
		c.outlives = true
		again := c.start(first.name)
		c.advance(2 * time.Second) // the other gateway reads that it has left
		m := monitored("mon-new")
		m.RuntimeID = again.name
		c.store.add(m)
		again.sup.Start(m)
		c.advance(30 * time.Second)
		if m := c.store.get(m.ID); m.RuntimeID != again.name {
			t.Errorf("its new monitor was taken over by %s", m.RuntimeID)
		}
	})
}

func TestARestartedGatewayAndItsSuccessorLaunchEachWorkerOnce(t *testing.T) {
	for after, want := range map[time.Duration]int{2 * time.Second: 100, 8 * time.Second: 0} {
		scenario(t, "it starts again after "+after.String(), func(t *testing.T) {
			c, first, other := newPair(t, 100)
			first.kill()
			c.advance(after)
			first.end()
			again := c.start(first.name)
			again.sup.AwaitStart(t.Context())
			c.advance(time.Minute)
			again.expectLaunches(want)
			other.expectLaunches(100 - want)
			again.expectWatched(want)
			other.expectWatched(100 - want)
		})
	}
}
