package envfile

import (
	"slices"
	"strings"
	"testing"
)

func TestAFileIsInABucket(t *testing.T) {
	for value, want := range map[string]string{
		"arn:aws:s3:::team/app.env": "team app.env", "arn:aws-cn:s3:::my.team-1/a/b c/prod:1.env": "my.team-1 a/b c/prod:1.env", "arn:aws:s3:::team/.env": "team .env",
		"arn:aws:s3:::team/app.txt": "", "arn:aws:s3:::team/": "", "arn:aws:s3:::team": "", "arn:aws:s3:::Team/app.env": "", "arn:aws:s3:::../app.env": "", "arn:aws:s3:::a..b/app.env": "",
		"arn:aws:s3:::team/../../etc/app.env": "", "arn:aws:s3:::team/a/./app.env": "", "arn:aws:s3:::team//app.env": "", "arn:aws:s3:::team//etc/app.env": "", "arn:aws:s3:::team/a\x00.env": "",
		"arn:aws:s3:us-east-1:1:team/app.env": "", "arn:aws:sns:::team/app.env": "", "s3://team/app.env": "", "team/app.env": "", "": "",
	} {
		bucket, key, err := File{Value: value, Type: TypeS3}.Parse()
		if got := strings.TrimSpace(bucket + " " + key); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	if _, _, err := (File{Value: "arn:aws:s3:::team/app.env", Type: "http"}).Parse(); err == nil {
		t.Error("a type that ECS does not have")
	}
}

// What a shell, or another reader of such files, would do with a line is not done.
func TestALineIsLiteral(t *testing.T) {
	text := strings.Join([]string{
		"# A=comment", "A=1", "QUOTED=\"a b\"", "SHELL=$(rm -rf /) `id` ${HOME} $A", "export B=2", " C = 3 ", "URL=http://x/?a=b#c", "EMPTY=", "=nameless", "no variable", "", "D=\\n\\", "CR=5\r", "A=last", " # not a comment=x",
	}, "\n")
	want := []Variable{
		{"A", "last"}, {"QUOTED", `"a b"`}, {"SHELL", "$(rm -rf /) `id` ${HOME} $A"}, {"export B", "2"}, {" C ", " 3 "}, {"URL", "http://x/?a=b#c"}, {"D", `\n\`}, {"CR", "5"}, {" # not a comment", "x"},
	}
	if got, err := Variables([]byte(text)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for name, text := range map[string]string{"NUL": "A=1\nB=hunter2\x00", "no UTF-8": "A=1\nB=hunter2\xff", "a long line": "A=1\nB=hunter2" + strings.Repeat("x", maxLine)} {
		if got, err := Variables([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func FuzzVariables(f *testing.F) {
	f.Add([]byte("A=1\r\n#x\nB==\n=\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Variables(text)
		for _, v := range all {
			if err != nil || v.Name == "" || v.Value == "" || strings.ContainsAny(v.Name, "=\n\x00") || strings.ContainsAny(v.Value, "\n\x00") || strings.HasPrefix(v.Name, "#") {
				t.Errorf("%q, %v", v, err)
			}
		}
	})
}
