package supervisor

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// duty is what a post is for.
type duty int

const (
	rest    duty = iota // nothing to do: the worker runs
	launch              // a worker of job's generation is wanted
	dismiss             // no worker is wanted
	inquire             // the worker was lost
)

// post is what is known of one monitor's worker. It exists from the first Start
// until the worker is gone for good.
type post struct {
	job    WorkerSpec         // the newest asked for; the zero Job if it was never asked for here
	due    duty               // what to do next
	doing  duty               // the action under way, if one is
	loss   loss               // for inquire
	cancel context.CancelFunc // ends the action under way; nil: none is
	ending bool               // a Stop was asked for: an exit is no news
}

// outcome is how an action ended.
type outcome struct {
	id   monitor.ID
	over bool // nothing is left to supervise
}

// grantAll takes up what was asked for.
func (s *Supervisor) grantAll(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wishes {
		s.grant(ctx, w)
	}
	s.wishes = nil
}

// grant takes a wish up. Whoever calls it, or proceed, holds mu.
func (s *Supervisor) grant(ctx context.Context, w wish) {
	p := s.posts[w.id]
	if p == nil {
		p = &post{}
		s.posts[w.id] = p
	}
	switch {
	case w.loss != nil:
		if p.ending || p.cancel != nil || p.job.Generation > w.loss.generation {
			w.loss.told(nothing, nil)
			return
		}
		p.job.Generation = w.loss.generation
		p.loss, p.due = *w.loss, inquire
	case w.job == nil && w.upTo != 0 && w.upTo < p.job.Generation:
		return
	case w.job == nil:
		p.due, p.ending = dismiss, true
	case w.job.Generation <= p.job.Generation:
		return
	default:
		p.job, p.due, p.ending = *w.job, launch, false
	}
	s.proceed(ctx, w.id, p)
}

// notice takes an exit up. That of a worker that was asked to stop, that has
// been replaced, or that nobody knows, is no news.
func (s *Supervisor) notice(ctx context.Context, e Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.posts[e.ID]
	if p == nil || p.ending || p.job.Generation != e.Generation {
		return
	}
	p.loss, p.due = loss{
		generation: e.Generation,
		reason:     event.ReasonWorkerLost,
		details:    "the worker's end: " + e.Detail,
		settle:     s.cfg.ExitGracePeriod,
		attempts:   endless,
		told:       func(remedy, error) {},
	}, inquire
	s.proceed(ctx, e.ID, p)
}

// conclude takes the end of an action up.
func (s *Supervisor) conclude(ctx context.Context, o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.posts[o.id]
	p.cancel = nil
	if p.due == rest {
		if o.over {
			delete(s.posts, o.id)
		}
		return
	}
	s.proceed(ctx, o.id, p)
}

// proceed begins what is due, or, while something else is under way, cuts that
// short.
func (s *Supervisor) proceed(ctx context.Context, id monitor.ID, p *post) {
	if p.cancel != nil {
		if p.due == dismiss && p.doing == dismiss {
			p.due = rest
			return
		}
		p.cancel()
		return
	}
	var act func(context.Context) (over bool)
	switch p.due {
	case launch:
		job := p.job
		act = func(ctx context.Context) bool { return s.launch(ctx, job) }
	case dismiss:
		act = func(ctx context.Context) bool { return s.dismiss(ctx, id) }
	case inquire:
		l := p.loss
		act = func(ctx context.Context) bool { return s.inquire(ctx, id, l) }
	}
	p.doing, p.due = p.due, rest

	acting, cancel := context.WithCancel(ctx)
	p.cancel = cancel
	s.actions.Go(func() {
		defer cancel()
		o := outcome{id, act(acting)}
		select {
		case s.finished <- o:
		case <-ctx.Done():
		}
	})
}
