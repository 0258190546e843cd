package main

import (
	"strings"
	"testing"
)

const run = `{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"what is of no interest\n"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"what went wrong\n"}
{"Action":"fail","Package":"p","Test":"TestBad","Elapsed":1.5}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":21}
{"Action":"fail","Package":"p","Elapsed":22}
{"Action":"pass","Package":"q","Elapsed":0.5}
{"Action":"run","Package":"h","Test":"TestHangs"}
{"Action":"output","Package":"h","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"h","Output":"FAIL h\n"}
{"Action":"fail","Package":"h","Elapsed":600}
{"ImportPath":"r","Action":"build-output","Output":"r.go:1: what does not compile\n"}
{"ImportPath":"r","Action":"build-fail"}
`

func TestReportPrintsFailuresWholeAndSlowTestsByName(t *testing.T) {
	var out strings.Builder
	report(strings.NewReader(run), &out)
	for _, want := range []string{"FAIL     1.5 s  p TestBad\nwhat went wrong\n", "  21.0 s  p TestGood\n", "ok       0.5 s  q\n", "FAIL h\npanic: test timed out\n", "FAIL h TestHangs (not ended)\n", "what does not compile"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "of no interest") {
		t.Errorf("the output of a test that passed is printed:\n%s", out.String())
	}
}
