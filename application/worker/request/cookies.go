package request

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
)

// Cookies lend a cookie jar to the questions about a stream (section 17.7). Jar may be called concurrently
// unless Return is called, too, as of streams of one's own, whose cookies nobody renews; else one goroutine at a time uses them.
type Cookies interface {
	// Jar returns the newest version that is known.
	Jar() cookie.Jar

	// Return takes what a question that got a version has learned. It makes one exchange with the gateway, whose failure it
	// logs. It reports whether a newer version than before is known now.
	Return(ctx context.Context, u cookie.Use) (newer bool)
}

type cookiesKey struct{}

// WithCookies returns a context for questions that use a cookie jar. nil changes nothing.
func WithCookies(ctx context.Context, c Cookies) context.Context {
	if c == nil {
		return ctx
	}
	return context.WithValue(ctx, cookiesKey{}, c)
}

// CookiesOf returns the cookie jar of ctx; nil: it has none.
func CookiesOf(ctx context.Context) Cookies {
	c, _ := ctx.Value(cookiesKey{}).(Cookies)
	return c
}
