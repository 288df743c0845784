package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The image that a program travels in, when it is left by an upgrade that was broken off, is shown with the command that removes it. One that no upgrade can need any more
// goes with the next upgrade.
func TestAnImageThatAnUpgradeHasLeftIsShownAndGoes(t *testing.T) {
	u := newUpgradable(t, "a1", "l")
	image := func(name, digest string, kept time.Duration) string {
		return fmt.Sprintf(`{"name":%q,"digest":%q,"hosts":["l"],"kept":{"at":%q}}`, name, digest, testTime.Add(-kept).Format(time.RFC3339))
	}
	own, _ := url.QueryUnescape(upgradeImage(t, u.file))
	u.documents["/v1/images"] = func(http.ResponseWriter) any {
		return "[" + strings.Join([]string{
			fmt.Sprintf(`{"name":%q,"digest":"sha256:5","hosts":["l"]}`, own), `{"name":"pinion.invalid/upgrade:old","digest":"sha256:6","hosts":["l"]}`, // a host's word
			image("pinion.invalid/upgrade:old", "sha256:1", 25*time.Hour), image("pinion.invalid/upgrade:other", "sha256:2", time.Hour), image("busybox:latest", "sha256:3", 25*time.Hour),
		}, ",") + "]"
	}
	got := u.pinion(t, "status", "--all")
	if got.code != 0 || !strings.Contains(got.err, "pinion image rm pinion.invalid/upgrade:old") || !strings.Contains(got.err, "pinion image rm pinion.invalid/upgrade:other") || strings.Contains(got.err, "busybox") {
		t.Errorf("%+v", got)
	}
	var unpinned []string
	u.operations["admin/images/unpin"] = func(in map[string]any) any {
		unpinned = append(unpinned, fmt.Sprint(in["name"]))
		return `{}`
	}
	for _, digest := range []string{"1", "5", "6"} {
		u.operations["admin/hosts/l/images/remove?digest=sha256%3A"+digest] = always(`{}`)
	}
	if got := u.pinion(t, "--to", u.file, "--all"); got.code != 0 || strings.Join(unpinned, " ") != "pinion.invalid/upgrade:old" || u.callCount("admin/hosts/l/images/remove?digest=sha256%3A1") != 1 {
		t.Errorf("unpinned %q: %+v", unpinned, got)
	}
	for _, digest := range []string{"5", "6"} {
		if u.callCount("admin/hosts/l/images/remove?digest=sha256%3A"+digest) != 0 {
			t.Errorf("sha256:%s is removed, which only a host has given the name of an upgrade", digest)
		}
	}
}
