package rest

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

func TestALogLineIsWrittenAsEncodingJSONWouldWriteIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		line := spec.LogLine{
			Time:      time.Unix(0, rapid.Int64().Draw(t, "time")).In(rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", 3600)}).Draw(t, "zone")),
			Container: text.Draw(t, "container"), Stream: rapid.SampledFrom([]string{"stdout", "stderr"}).Draw(t, "stream"), Text: text.Draw(t, "text"),
		}
		var want bytes.Buffer
		if err := json.NewEncoder(&want).Encode(lineView{line.Time, line.Container, line.Stream, line.Text}); err != nil {
			t.Fatal(err)
		}
		if got, err := appendLine(nil, line); err != nil || string(got) != want.String() {
			t.Fatalf("%s, %v; want %s", got, err, want.String())
		}
	})
}
