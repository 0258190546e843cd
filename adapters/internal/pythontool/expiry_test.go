package pythontool_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
)

func TestExpiryIsTheEarliestOfTheSignedURLs(t *testing.T) {
	const master = "https://manifest.googlevideo.com/api/manifest/hls_variant/"
	for name, tc := range map[string]struct {
		urls []string
		want int64 // Unix seconds; 0: unknown
	}{
		"no URL":                   {nil, 0},
		"an empty URL":             {[]string{""}, 0},
		"in the path":              {[]string{master + "expire/1795000000/ei/x/file/index.m3u8"}, 1795000000},
		"at the end of the path":   {[]string{master + "expire/1795000000"}, 1795000000},
		"before a query":           {[]string{master + "expire/1795000000?a=b"}, 1795000000},
		"in the query":             {[]string{"https://a.example/videoplayback?id=1&expire=1795000000&sig=x"}, 1795000000},
		"at the end of the query":  {[]string{"https://a.example/videoplayback?expire=1795000000"}, 1795000000},
		"the earliest":             {[]string{master + "expire/1795000002/a", "https://a.example", master + "expire/1795000001/a", master + "expire/1795000003/a"}, 1795000001},
		"one that names none":      {[]string{"https://a.example/index.m3u8", master + "expire/1795000001/a"}, 1795000001},
		"the largest":              {[]string{master + "expire/9999999999/a"}, 9999999999},
		"zero":                     {[]string{master + "expire/0/a"}, 0},
		"zeros first":              {[]string{master + "expire/01795000000/a"}, 0},
		"negative":                 {[]string{master + "expire/-1795000000/a", "https://a.example/?expire=-1"}, 0},
		"the year 9999":            {[]string{master + "expire/253402300799/a"}, 0},
		"thirty zeros":             {[]string{master + "expire/1" + strings.Repeat("0", 30) + "/a"}, 0},
		"a fraction":               {[]string{master + "expire/1795000000.5/a"}, 0},
		"an exponent":              {[]string{master + "expire/1e9/a"}, 0},
		"hexadecimal":              {[]string{master + "expire/0x6AFD4D00/a"}, 0},
		"other digits":             {[]string{master + "expire/１７９５００００００/a"}, 0},
		"no number":                {[]string{master + "expire/never/a"}, 0},
		"nothing":                  {[]string{master + "expire//a", master + "expire"}, 0},
		"a longer name":            {[]string{master + "noexpire/1795000000/a", "https://a.example/?xexpire=1795000000"}, 0},
		"a list of signed names":   {[]string{master + "sparams/expire%2Cei/1795000000"}, 0},
		"a hostile one and a good": {[]string{master + "expire/0/a", master + "expire/1795000000/a"}, 1795000000},
	} {
		t.Run(name, func(t *testing.T) {
			want := time.Time{}
			if tc.want != 0 {
				want = time.Unix(tc.want, 0).UTC()
			}
			if got := pythontool.Expiry(tc.urls...); !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
