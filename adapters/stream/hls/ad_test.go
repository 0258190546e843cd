package hls_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

func TestAdvertisementsAreToldFromTheStreamsOwnMedia(t *testing.T) {
	const at = "2026-01-15T20:00:0%d.000Z"
	list := func(tags ...string) string { // four segments of 2 s from second 0 on
		for i, file := range []string{"a", "b", "preroll-1-2.ts?x=preroll-", "d"} {
			title := "live"
			if strings.Contains(strings.Join(tags, ""), "TITLE") && i == 1 {
				title = "Amazon|7250020370401"
			}
			tags = append(tags, fmt.Sprintf("#EXT-X-PROGRAM-DATE-TIME:"+at, 2*i), "#EXTINF:2.000,"+title, file)
		}
		return mediaPlaylist(tags...)
	}
	of := func(attributes string) string { return "#EXT-X-DATERANGE:" + attributes }
	start := fmt.Sprintf(`,START-DATE="`+at+`"`, 2)
	for name, c := range map[string]struct{ tag, want string }{
		"none but by its file":         {"#TITLE", "-aa-"},
		"by class and duration":        {of(`ID="1",CLASS="twitch-stitched-ad"` + start + `,DURATION=2.000`), "-aa-"},
		"by id":                        {of(`ID="stitched-ad-1"` + start + `,DURATION=6`), "-aaa"},
		"until a date":                 {of(`ID="stitched-ad-1"` + start + fmt.Sprintf(`,END-DATE="`+at+`",DURATION=1`, 8)), "-aaa"},
		"by a planned duration":        {of(`ID="stitched-ad-1"` + start + `,PLANNED-DURATION=6`), "-aaa"},
		"without an end":               {of(`ID="stitched-ad-1"` + start), "-aaa"},
		"of no length":                 {of(`ID="stitched-ad-1"` + start + `,DURATION=0`), "--a-"},
		"of another class":             {of(`ID="1",CLASS="twitch-session"` + start), "--a-"},
		"without a start":              {of(`ID="stitched-ad-1",DURATION=6`), "--a-"},
		"whose attributes are no list": {of(`ID`), "--a-"},
		"more than are known":          {strings.Repeat(of(`ID="stitched-ad-1",START-DATE="2020-01-01T00:00:00Z",DURATION=1`)+"\n", 1000) + of(`ID="stitched-ad-1"`+start+`,DURATION=2`), "-aa-"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, s := range mustRead(t, list(c.tag)).Segments {
				got += map[bool]string{false: "-", true: "a"}[s.Ad]
			}
			expect.Equal(t, "segments", got, c.want)
		})
	}
}
