package worker

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lender lends the cookie jar of an assignment to the questions of its worker, in memory only. The loop makes another one
// when the assignment changes; a question uses the one with which it began.
type lender struct {
	w          *Worker
	site       cookie.Site
	jar        cookie.Jar
	unsent     bool      // the gateway does not have the text of jar
	reportedAt time.Time // when the gateway last learned how the jar is; zero: never
	lastWarned time.Time
}

// newCookies returns the cookies of an assignment; nil: it has no jar.
func (w *Worker) newCookies(a monitor.Assignment) request.Cookies {
	if a.Cookies == nil {
		return nil
	}
	return &lender{w: w, site: a.StreamURL.Source().Site(), jar: *a.Cookies}
}

// acceptedInterval is how long the gateway is not told again that a source accepts a jar.
const acceptedInterval = 10 * time.Minute

// Jar implements request.Cookies.
func (l *lender) Jar() cookie.Jar { return l.jar }

// Return implements request.Cookies. It goes on when the question's own limit is over. Cookies that the gateway did not take
// are sent again with the next question, because the source may accept no older ones any more.
func (l *lender) Return(ctx context.Context, u cookie.Use) (newer bool) {
	if u.Text == "" && l.unsent {
		u.Text = l.jar.Text
	}
	if !u.Rejected && u.Text == "" && (!u.Accepted || time.Since(l.reportedAt) < acceptedInterval) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	newest, err := l.w.ports.Gateway.ReturnCookies(ctx, l.w.cfg.ID, l.w.cfg.Generation, u)
	if err != nil {
		if renewed := l.site.Renew(l.jar, u, monitor.CookieHosts(), l.w.cfg.Now()); renewed.Version > l.jar.Version {
			l.jar.Text, l.unsent = renewed.Text, true
		}
		if time.Since(l.lastWarned) >= warnInterval {
			l.lastWarned = time.Now()
			l.w.log.Warn("The gateway did not take the cookies that a question has left; they are kept in memory, and sent with the next question", "cookie_jar", u.Name, "error", err)
		}
		return false
	}
	newer = newest.Version > l.jar.Version
	l.jar, l.unsent, l.reportedAt = newest, false, time.Now()
	return newer
}
