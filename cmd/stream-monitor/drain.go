package main

import "time"

// drain goes on answering requests after the readiness probe has turned, for as
// long as load balancers may need to look, so that none sends a request to a
// port that is closed. Alone on a machine nobody looks: the default is 0.
func (g *service) drain(hurry haste) {
	if g.drainTime == 0 {
		return
	}
	g.public.Drain()
	g.log.Info("requests are still answered while load balancers turn away", "drain_sec", g.drainTime.Seconds())
	select {
	case <-time.After(g.drainTime):
	case <-hurry.Done():
	}
}
