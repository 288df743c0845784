package query

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"pinion/api/wire"
)

type part struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

type input struct {
	Name   string           `json:"Name"`
	Yes    *bool            `json:"Yes"`
	N      *int             `json:"N"`
	F      *float64         `json:"F"`
	Texts  []string         `json:"Texts"`
	Parts  []part           `json:"Parts"`
	Inside part             `json:"Inside"`
	Not    wire.Unsupported `json:"Not" why:"it is not"`
}

func TestAFormIsDecodedAsItsTypeSays(t *testing.T) {
	form := url.Values{
		"Action": {"Do"}, "Name": {"5"}, "Yes": {"false"}, "N": {"7"}, "F": {"2.5"}, "Texts.member.1": {"a"}, "Texts.member.2": {"b"},
		"Parts.member.1.Name": {"n"}, "Parts.member.1.Value": {"v"}, "Inside.Name": {"i"},
	}
	text, err := JSON([]byte(form.Encode()), reflect.TypeFor[input]())
	var got input
	if err := wire.DecodeJSON(text, &got, wire.Strict); err != nil {
		t.Fatal(err)
	}
	want := input{Name: "5", Yes: new(bool), N: new(int), F: new(float64), Texts: []string{"a", "b"}, Parts: []part{{"n", "v"}}, Inside: part{Name: "i"}}
	*want.N, *want.F = 7, 2.5
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %s", err, text)
	}
}

func TestAFormThatIsRefused(t *testing.T) {
	many := url.Values{}
	for i := range maxParameters + 1 {
		many.Set(fmt.Sprint(i), "")
	}
	long := url.Values{}
	for i := range maxMembers + 1 {
		long.Set(fmt.Sprint("Texts.member.", i+1), "")
	}
	for body, says := range map[string]string{
		"N=seven": "N must be", "F=NaN": "F must be", "Yes=perhaps": "Yes must be", "Not.member.1.A=b": "Not is not supported",
		"%": "is not a form", "Name=a&N=1&Name=b": "2 times", strings.Repeat(".", maxKey+1) + "=": "can have 500 characters", many.Encode(): "parameters", long.Encode(): "members",
	} {
		text, err := JSON([]byte(body), reflect.TypeFor[input]())
		if err == nil {
			err = wire.DecodeJSON(text, new(input), wire.Lenient)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

func TestAnAnswerHasItsEnvelope(t *testing.T) {
	result := struct {
		Parts []part `xml:"Parts>member"`
	}{[]part{{"n", "<v>"}}}
	for want, result := range map[string]any{
		`<DoResponse xmlns="urn:x"><DoResult><Parts><member><Name>n</Name><Value>&lt;v&gt;</Value></member></Parts></DoResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DoResponse>`: result,
		`<DoResponse xmlns="urn:x"><DoResult></DoResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DoResponse>`:                                                                       struct{}{},
	} {
		if got, err := Response("urn:x", "Do", result, "r"); err != nil || string(got) != want {
			t.Errorf("%v %s", err, got)
		}
	}
}

func TestTheFirstValueOfAParameterIsFoundWithoutParsing(t *testing.T) {
	for body, want := range map[string]string{
		"": "", "Action": "", "Action=": "", "Action=A": "A", "Action=A%20b+c&Action=D": "A b c", "x=1&Action=A&y=2": "A", "xAction=A": "", "x=Action=A": "",
		"x=1&Actions=A": "", "x=1;Action=A": "", "x=%26Action=A": "", "%41ction=A": "", "Action=%zz": "", "&Action=A": "A",
	} {
		if got := First([]byte(body), "Action"); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}
