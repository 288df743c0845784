package wire

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTimeIsSecondsWithMilliseconds(t *testing.T) {
	for text, at := range map[string]time.Time{
		"1549468508.844": time.UnixMilli(1549468508844),
		"1549468508.000": time.Unix(1549468508, 999_999), // what is below a millisecond is cut
	} {
		got, err := json.Marshal(NewTime(at))
		if err != nil || string(got) != text {
			t.Errorf("%v: %s, %v", at, got, err)
		}
		var back Time
		if err := json.Unmarshal(got, &back); err != nil || back.UnixMilli() != at.UnixMilli() {
			t.Errorf("%s: %v, %v", got, back, err)
		}
	}
	if got, _ := json.Marshal(struct {
		At Time `json:"at,omitzero"`
	}{}); string(got) != "{}" {
		t.Errorf("no time: %s", got)
	}
}

type inner struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

type outer struct {
	inner
	Size    *int              `json:"size"` // hides inner's
	Options map[string]string `json:"options"`
	Free    any               `json:"free"`
	Yes     bool              `json:"yes"`
	Never   Unsupported       `json:"never" why:"not today"`
	Gone    Unsupported       `json:"gone" never:"it belongs to nobody"`
}

func TestEmbeddedFieldsAndPointers(t *testing.T) {
	var got outer
	if err := DecodeJSON([]byte(`{"name":"n","size":3,"options":{"a":"b"},"free":1.5,"yes":true,"never":[],"unknown":1}`), &got, Lenient); err != nil {
		t.Fatal(err)
	}
	if got.Name != "n" || *got.Size != 3 || got.inner.Size != 0 || got.Options["a"] != "b" || got.Free != json.Number("1.5") || !got.Yes {
		t.Errorf("%+v", got)
	}
	if err := DecodeJSON([]byte(`{"name":null,"size":null,"free":null,"options":null}`), &got, Strict); err != nil || got.Name != "n" {
		t.Errorf("null is not the same as absent: %+v, %v", got, err)
	}
}

func TestDecodingNamesWhatIsWrong(t *testing.T) {
	for body, want := range map[string]string{
		`{"size":"3"}`:           "SerializationException: size must be an integer, not a string",
		`{"size":[3]}`:           "SerializationException: size must be an integer, not a list",
		`{"options":{"a":true}}`: "SerializationException: options.a must be a string, not true or false",
		`{"yes":"yes"}`:          "SerializationException: yes must be true or false, not a string",
		`{"never":1}`:            "ClientException: never is not supported by Pinion yet: not today. Remove the field.",
		`{"gone":1}`:             "ClientException: gone is not supported by Pinion: it belongs to nobody. Remove the field.",
		`{"Name":"n"}`:           `ClientException: unknown field Name: did you mean "name"?`,
		`{"a":1`:                 "SerializationException: the body is not valid JSON: it ends too early",
		`{"a":1,}`:               "SerializationException: the body is not valid JSON: invalid character '}' looking for beginning of object key string (line 1, column 8)",
	} {
		if err := DecodeJSON([]byte(body), new(outer), Strict); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", body, err, want)
		}
	}
}

// No body makes the decoder panic, and what it refuses it refuses with an Error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"n","size":3,"options":{"a":"b"},"free":[1,{"a":null}],"never":{}}`))
	f.Add([]byte("name: n\nsize: 3\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, decode := range []func([]byte, any, Strictness) error{DecodeJSON, DecodeYAML} {
			if err := decode(body, new(outer), Strict); err != nil {
				if _, ok := err.(*Error); !ok {
					t.Errorf("%T: %v", err, err)
				}
			}
		}
	})
}
