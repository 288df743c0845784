package ssm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/api/secrets/secretstest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

func TestAParameterIsPutAndRead(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct{ operation, body, want string }{
		{"PutParameter", put("/app/host", "db.example.com", `,"Description":"where","Tags":[{"Key":"k","Value":"v"}]`), `{"Version":1,"Tier":"Standard"}`},
		{"PutParameter", `{"Name":"/app/pass","Value":"hunter2","Type":"SecureString","AllowedPattern":""}`, `{"Version":1,"Tier":"Standard"}`},
		{"PutParameter", `{"Name":"/app/host","Value":"db2.example.com","Overwrite":true}`, `{"Version":2,"Tier":"Standard"}`},
		{"GetParameter", `{"Name":"/app/host"}`, `{"Parameter":{"Name":"/app/host","Type":"String","Value":"db2.example.com","Version":2,"LastModifiedDate":1767323045.000,"ARN":"arn:aws:ssm:us-east-1:123456789012:parameter/app/host","DataType":"text"}}`},
		{"GetParameter", `{"Name":"/app/host:1"}`, `"Value":"db.example.com","Version":1,"Selector":":1",`},
		{"GetParameter", `{"Name":"arn:aws:ssm:eu-west-1:000000000000:parameter/app/host:1"}`, `"Value":"db.example.com"`},
		{"GetParameter", `{"Name":"/app/pass"}`, `"Value":"pinion:sealed:/app/pass:1"`},
		{"GetParameter", `{"Name":"/app/pass","WithDecryption":true}`, `"Value":"hunter2"`},
		{"GetParameters", `{"Names":["/app/pass","/app/none","/app/host:9","arn:aws:ec2:::x"],"WithDecryption":true}`, `"Value":"hunter2"`},
		{"GetParameters", `{"Names":["/app/none","/app/host:9","a b"]}`, `{"Parameters":[],"InvalidParameters":["/app/none","/app/host:9","a b"]}`},
		{"DescribeParameters", `{"ParameterFilters":[{"Key":"Name","Option":"Equals","Values":["/app/pass"]}]}`,
			`{"Parameters":[{"Name":"/app/pass","ARN":"arn:aws:ssm:us-east-1:123456789012:parameter/app/pass","Type":"SecureString","KeyId":"alias/aws/ssm","LastModifiedDate":1767323045.000,` +
				`"LastModifiedUser":"arn:aws:iam::123456789012:user/admin","Version":1,"Tier":"Standard","Policies":[],"DataType":"text"}]}`},
		{"DescribeParameters", `{}`, `"Description":"where"`},
		{"ListTagsForResource", `{"ResourceType":"Parameter","ResourceId":"/app/host"}`, `{"TagList":[{"Key":"k","Value":"v"}]}`},
		{"AddTagsToResource", `{"ResourceType":"Parameter","ResourceId":"/app/host","Tags":[{"Key":"a","Value":""}]}`, `{}`},
		{"RemoveTagsFromResource", `{"ResourceType":"Parameter","ResourceId":"/app/host","TagKeys":["k"]}`, `{}`},
		{"ListTagsForResource", `{"ResourceType":"Parameter","ResourceId":"/app/host"}`, `{"TagList":[{"Key":"a","Value":""}]}`},
		{"ListTagsForResource", `{"ResourceType":"Parameter","ResourceId":"/app/pass"}`, `{"TagList":[]}`},
		{"DeleteParameters", `{"Names":["/app/pass","/app/none","/app/pass"]}`, `{"DeletedParameters":["/app/pass"],"InvalidParameters":["/app/none","/app/pass"]}`},
		{"DeleteParameter", `{"Name":"/app/host"}`, `{}`},
		{"DescribeParameters", `{}`, `{"Parameters":[]}`},
	} {
		if got := f.must(t, c.operation, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s has not %s", c.operation, c.body, got, c.want)
		}
	}
	for _, value := range []string{"hunter2", "db.example.com"} { // a String is sealed too
		if bytes.Contains(f.Log, []byte(value)) {
			t.Errorf("the log tells the value %s", value)
		}
	}
}

func TestVersionsAndLabels(t *testing.T) {
	f := newFixture(t)
	for n := range 25 { // more than are kept
		f.Now = f.Now.Add(time.Second)
		f.must(t, "PutParameter", put("p", fmt.Sprint("value ", n+1), `,"Overwrite":true`))
		if n == 0 {
			f.must(t, "LabelParameterVersion", `{"Name":"p","Labels":["first","live"]}`)
		}
	}
	for _, c := range []struct{ operation, body, want string }{
		{"GetParameter", `{"Name":"p:first"}`, `"Value":"value 1","Version":1,"Selector":":first"`},
		{"GetParameter", `{"Name":"/p:25"}`, `"Value":"value 25"`},
		{"LabelParameterVersion", `{"Name":"p","ParameterVersion":25,"Labels":["live","1st","aws-x","SSMx","a b",""]}`, `{"InvalidLabels":["1st","aws-x","SSMx","a b",""],"ParameterVersion":25}`},
		{"LabelParameterVersion", `{"Name":"p","Labels":["live"]}`, `{"InvalidLabels":[],"ParameterVersion":25}`},
		{"GetParameter", `{"Name":"p:live"}`, `"Value":"value 25"`},
		{"GetParameterHistory", `{"Name":"p","MaxResults":1}`, `"Version":1,"Tier":"Standard","Policies":[],"DataType":"text","Value":"value 1","Labels":["first"]}],"NextToken":`},
		{"GetParameterHistory", `{"Name":"p"}`, `"Value":"value 25","Labels":["live"]}]}`},
		{"UnlabelParameterVersion", `{"Name":"p","ParameterVersion":25,"Labels":["live","first"]}`, `{"RemovedLabels":["live"],"InvalidLabels":["first"]}`},
		{"GetParametersByPath", `{"Path":"/","ParameterFilters":[{"Key":"Label","Values":["first"]}]}`, `"Value":"value 1"`},
		{"GetParametersByPath", `{"Path":"/","ParameterFilters":[{"Key":"Label","Values":["live"]}]}`, `{"Parameters":[]}`},
	} {
		if got := f.must(t, c.operation, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s has not %s", c.operation, c.body, got, c.want)
		}
	}
	for selector, want := range map[string]string{"2": versionNotFound, "live": versionNotFound, "26": versionNotFound, "-1": versionNotFound, "xy": versionNotFound} {
		if _, err := f.as(admin, "GetParameter", `{"Name":"p:`+selector+`"}`); errorType(err) != want {
			t.Errorf("%s: %v", selector, err)
		}
	}
	f.must(t, "DeleteParameter", `{"Name":"p"}`)
	if got := f.must(t, "PutParameter", put("p", "anew")); got != `{"Version":1,"Tier":"Standard"}` {
		t.Errorf("a new one of the name begins with %s", got)
	}
}

// Each version can have a label, and then none of them may go.
func TestLabelledVersionsStay(t *testing.T) {
	f := newFixture(t)
	for n := range 20 {
		f.must(t, "PutParameter", put("p", fmt.Sprint(n), `,"Overwrite":true`))
		f.must(t, "LabelParameterVersion", fmt.Sprintf(`{"Name":"p","Labels":["v%d"]}`, n))
	}
	if _, err := f.as(admin, "PutParameter", put("p", "one more", `,"Overwrite":true`)); errorType(err) != tooManyVersions {
		t.Errorf("%v", err)
	}
	for n := range 9 {
		f.must(t, "LabelParameterVersion", fmt.Sprintf(`{"Name":"p","Labels":["more%d"]}`, n))
	}
	if _, err := f.as(admin, "LabelParameterVersion", `{"Name":"p","Labels":["eleventh"]}`); errorType(err) != tooManyLabels {
		t.Errorf("%v", err)
	}
}

func TestWhatIsAbsentStays(t *testing.T) {
	f := newFixture(t)
	f.must(t, "PutParameter", `{"Name":"p","Value":"12","Type":"SecureString","KeyId":"alias/mine","Description":"d","AllowedPattern":"^\\d+$","Tier":"Advanced"}`)
	f.must(t, "PutParameter", `{"Name":"p","Value":"13","Overwrite":true}`)
	if got := f.must(t, "DescribeParameters", `{}`); !strings.Contains(got, `"Type":"SecureString","KeyId":"alias/mine"`) || !strings.Contains(got, `"Description":"d","AllowedPattern":"^\\d+$","Version":2,"Tier":"Advanced"`) {
		t.Errorf("%s", got)
	}
	f.must(t, "PutParameter", `{"Name":"p","Value":"text","Type":"String","Description":"","AllowedPattern":"","Overwrite":true}`)
	if got := f.must(t, "DescribeParameters", `{}`); strings.Contains(got, "KeyId") || strings.Contains(got, "Description") || strings.Contains(got, "AllowedPattern") {
		t.Errorf("%s", got)
	}
}

func TestTiersBoundValues(t *testing.T) {
	for _, c := range []struct {
		had, asked  string
		size        int
		tier, fails string
	}{
		{"", "", 4096, standard, ""}, {"", "", 4097, "", "Standard tier"}, {"", standard, 4097, "", "Standard tier"},
		{"", intelligent, 4096, standard, ""}, {"", intelligent, 4097, advanced, ""}, {"", intelligent, 8193, "", "Advanced tier"},
		{"", advanced, 1, advanced, ""}, {"", advanced, 8192, advanced, ""}, {"", advanced, 8193, "", "Advanced tier"},
		{standard, advanced, 8192, advanced, ""}, {advanced, "", 8192, advanced, ""}, {advanced, intelligent, 1, advanced, ""}, {advanced, standard, 1, "", "You can't downgrade"},
	} {
		tier, err := tierOf(c.had, c.asked, c.size)
		if tier != c.tier || (err == nil) != (c.fails == "") || err != nil && (errorType(err) != invalid || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%+v: %s, %v", c, tier, err)
		}
	}
}

func TestPagesOfPaths(t *testing.T) {
	f := newFixture(t)
	for n := range 23 {
		f.must(t, "PutParameter", put(fmt.Sprintf("/app/%02d", n), "v"))
	}
	f.must(t, "PutParameter", put("/app/deep/er", "v"))
	f.must(t, "PutParameter", put("/application", "v"))
	f.must(t, "PutParameter", put("root", "v"))
	count := func(body string) (names, pages int) {
		t.Helper()
		for token := ""; pages == 0 || token != ""; pages++ {
			got := f.must(t, "GetParametersByPath", strings.Replace(body, "}", `,"NextToken":"`+token+`"}`, 1))
			names += strings.Count(got, `"Name"`)
			_, rest, _ := strings.Cut(got, `"NextToken":"`)
			token, _, _ = strings.Cut(rest, `"`)
		}
		return names, pages
	}
	for body, want := range map[string][2]int{
		`{"Path":"/app"}`: {23, 3}, `{"Path":"/app/"}`: {23, 3}, `{"Path":"/app","Recursive":true}`: {24, 3}, `{"Path":"/app","MaxResults":1}`: {23, 23},
		`{"Path":"/"}`: {2, 1}, `{"Path":"/","Recursive":true}`: {26, 3}, `{"Path":"/none"}`: {0, 1}, `{"Path":"/app/deep/er"}`: {0, 1},
	} {
		if names, pages := count(body); names != want[0] || pages != want[1] {
			t.Errorf("%s: %d names on %d pages", body, names, pages)
		}
	}
	if got := f.must(t, "DescribeParameters", `{}`); strings.Count(got, `"Name"`) != 26 {
		t.Errorf("%s", got)
	}
}

func TestFilters(t *testing.T) {
	f := newFixture(t)
	f.must(t, "PutParameter", put("/prod/db", "v", `,"Tags":[{"Key":"env","Value":"prod"}]`))
	f.must(t, "PutParameter", put("/prod/web/host", "v", `,"Tags":[{"Key":"env","Value":"production"},{"Key":"x","Value":""}]`))
	f.must(t, "PutParameter", `{"Name":"plain","Value":"v","Type":"SecureString","KeyId":"alias/k","Tier":"Advanced"}`)
	for filters, want := range map[string]string{
		`{"Key":"Name","Values":["/prod/db","plain"]}`:                                            "plain /prod/db",
		`{"Key":"Name","Values":["/plain"]}`:                                                      "plain",
		`{"Key":"Name","Option":"BeginsWith","Values":["prod"]}`:                                  "/prod/db /prod/web/host",
		`{"Key":"Name","Option":"Contains","Values":["web","lai"]}`:                               "plain /prod/web/host",
		`{"Key":"Type","Values":["SecureString"]}`:                                                "plain",
		`{"Key":"KeyId","Option":"BeginsWith","Values":["alias/"]}`:                               "plain",
		`{"Key":"Tier","Values":["Standard"]}`:                                                    "/prod/db /prod/web/host",
		`{"Key":"DataType","Values":["text"]}`:                                                    "plain /prod/db /prod/web/host",
		`{"Key":"Path","Values":["/prod"]}`:                                                       "/prod/db",
		`{"Key":"Path","Option":"Recursive","Values":["/prod"]}`:                                  "/prod/db /prod/web/host",
		`{"Key":"tag:env"}`:                                                                       "/prod/db /prod/web/host",
		`{"Key":"tag:env","Values":["prod"]}`:                                                     "/prod/db",
		`{"Key":"tag:env","Option":"BeginsWith","Values":["prod"]}`:                               "/prod/db /prod/web/host",
		`{"Key":"tag:x","Values":[""]}`:                                                           "/prod/web/host",
		`{"Key":"tag:env","Values":["prod"]},{"Key":"Name","Option":"Contains","Values":["web"]}`: "",
	} {
		got := f.must(t, "DescribeParameters", `{"ParameterFilters":[`+filters+`]}`)
		var names []string
		for _, part := range strings.Split(got, `"Name":"`)[1:] {
			name, _, _ := strings.Cut(part, `"`)
			names = append(names, name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%s: %v", filters, names)
		}
	}
	if got := f.must(t, "DescribeParameters", `{"Filters":[{"Key":"Name","Values":["/prod"]},{"Key":"Type","Values":["String"]}]}`); strings.Count(got, `"Name"`) != 2 {
		t.Errorf("earlier filters: %s", got)
	}
}

func TestWhoIsToldAValue(t *testing.T) {
	f := newFixture(t)
	f.mustAs(t, ofA, "PutParameter", put("/a/x", "secret of a"))
	for operation, body := range map[string]string{
		"GetParameter": `{"Name":"/a/x"}`, "GetParameters": `{"Names":["/a/x"]}`, "GetParametersByPath": `{"Path":"/a"}`, "GetParameterHistory": `{"Name":"/a/x"}`,
	} {
		if got, err := f.as(reader, operation, body); errorType(err) != wire.AccessDenied || strings.Contains(fmt.Sprint(got, err), "secret of a") {
			t.Errorf("%s by a key that reads: %s %v", operation, got, err)
		}
		if f.mustAs(t, ofA, operation, body); len(f.Used) != 1 || f.Used[0] != "/a/x" {
			t.Errorf("%s: the audit log is told of %v", operation, f.Used)
		}
	}
	if got := f.mustAs(t, secretstest.Key(accesskey.RoleRead, "a"), "DescribeParameters", `{}`); !strings.Contains(got, "/a/x") || strings.Contains(got, "secret of a") {
		t.Errorf("%s", got)
	}
	if len(f.Used) != 0 {
		t.Errorf("a description counts as a use of %v", f.Used)
	}
}
