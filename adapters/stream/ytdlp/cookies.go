package ytdlp

import (
	"io"
	"os"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// loginRefused is what yt-dlp warns of when the site has deleted the cookies of the login. It then goes on without them.
const loginRefused = "cookies are no longer valid"

// maxCookies limits what is read of the file that a run has left, in bytes.
const maxCookies = 1 << 20

// copyOf returns a copy of a jar for one run, and the options by which the run reads it, and writes it at its end; nil
// for a jar that has no cookies.
func copyOf(jar cookie.Jar) (file *os.File, options []string, err error) {
	if jar.Text == "" {
		return nil, nil, nil
	}
	file, err = subprocess.NewPrivateFile([]byte(jar.Text))
	return file, []string{"--cookies", subprocess.FilePath}, err
}

// usedBy returns what a run that got a copy of a jar has learned of it.
func usedBy(answer watch.Resolution, jar cookie.Jar, file *os.File, stderr []byte) cookie.Use {
	use := cookie.Use{Jar: cookie.Jar{Name: jar.Name, Version: jar.Version}}
	use.Rejected = pythontool.ContainsAny(pythontool.Normalize(string(stderr)), []string{loginRefused})
	use.Accepted = !use.Rejected && answer.State.Known()
	if left, err := io.ReadAll(io.NewSectionReader(file, 0, maxCookies)); err == nil {
		use.Text = jar.Left(string(left))
	}
	return use
}

// withoutLogin returns an answer that yt-dlp got from a site without the login of a jar. Whether the stream is for
// members, or private, was known before: that it cannot be seen says nothing of the stream.
func withoutLogin(answer watch.Resolution, site, name string) watch.Resolution {
	switch answer.State {
	case watch.Private, watch.AgeRestricted, watch.MembersOnly:
		answer.State = watch.LoginLost
		answer.Detail = pythontool.OneLine(site + " needs a login here, and the cookie jar " + name + " has none that it accepts; upload its cookies again: " + answer.Detail)
	}
	return answer
}
