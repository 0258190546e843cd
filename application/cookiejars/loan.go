package cookiejars

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Loan lends a jar to one question of the gateway itself, such as a preview. One goroutine at a time uses it.
type Loan struct {
	service *Service
	source  monitor.SourceName
	jar     cookie.Jar
}

// Lend lends the jar with a name to a question about a stream; nil without a name.
func (s *Service) Lend(ctx context.Context, name string, stream monitor.StreamURL) (*Loan, error) {
	jar, err := s.Jar(ctx, name)
	if jar == nil || err != nil {
		return nil, err
	}
	return &Loan{s, stream.Source(), *jar}, nil
}

// Jar returns the newest version that the loan knows.
func (l *Loan) Jar() cookie.Jar { return l.jar }

// Return stores what the question has learned. It reports whether the loan has a newer version now.
func (l *Loan) Return(ctx context.Context, u cookie.Use) (newer bool) {
	jar, err := l.service.Return(ctx, l.source, u)
	if err != nil {
		l.service.log.Warn("the cookies that a preview has left could not be stored, the jar stays as it was", "cookie_jar", u.Name, "error", err.Error())
		return false
	}
	newer = jar.Version > l.jar.Version
	l.jar = jar
	return newer
}
