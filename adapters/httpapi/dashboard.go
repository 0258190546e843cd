package httpapi

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
)

// dashboardPaths are the routes of the dashboard. They need no key: the pages contain no
// data, and fetch it from the API.
func dashboardPaths(d *ui.Dashboard) []string {
	return slices.Concat(ui.Pages, []string{ui.AssetPath}, d.Files())
}

func (a *API) routeDashboard() {
	page := gin.WrapH(a.cfg.Dashboard)
	for _, path := range dashboardPaths(a.cfg.Dashboard) {
		serve := page
		if path == signInPath {
			serve = a.signIn.useLink(page)
		}
		a.public.Match([]string{http.MethodGet, http.MethodHead}, path, serve)
	}
	a.public.POST(sessionPath, a.answer(a.signIn.begin))
	a.public.GET(sessionPath, a.answer(a.signIn.read))
	a.public.DELETE(sessionPath, a.answer(a.signIn.end))
}

// NewSignInLink returns the path of a link that signs in to the dashboard once, within
// 10 minutes, at this gateway. The link before it ends. Without a dashboard it is "".
func (a *API) NewSignInLink() string {
	if a.signIn == nil {
		return ""
	}
	return a.signIn.link.renew(a.cfg.Now())
}

// Origin returns the scheme and host of a URL, or "" if it has none.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
