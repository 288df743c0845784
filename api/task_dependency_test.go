package api

import "testing"

func TestATaskCannotWaitForWhatIsNotThere(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","group":"data"}`)
	after := func(what, group string) string {
		return `{"taskDefinition":"tensorflow-1-gpu",` + through + `,"group":"` + group + `","tags":[{"key":"pinion.after","value":"` + what + `"}]}`
	}
	for what, message := range map[string]string{
		"any:0000": "The tag pinion.after names task 0000, which is not known: there was none of that id within the last hour.",
		"group:no": "The tag pinion.after names group no, of which cluster default has no task.",
		"group:me": "The tag pinion.after names group me, which is the group of the tasks themselves.",
	} {
		b.aws("RunTask", after(what, "me")).wantError(t, 400, invalid, message)
	}
	for _, what := range []string{firstTask, "any:" + arns + "task/default/" + firstTask, "group:data", firstTask + " any:group:data"} {
		if got := b.aws("RunTask", after(what, "me")); got.Code != 200 {
			t.Errorf("%s: %s", what, got.Body)
		}
	}
}
