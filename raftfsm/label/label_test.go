package label_test

import (
	"testing"

	"pinion/raftfsm/label"
)

func TestWhereSecretsMayBe(t *testing.T) {
	for _, right := range []string{"/run/secrets", "/run/secrets/", "/secrets", "/etc/app", "/home/app/.secrets", "/runs", "/device"} {
		if !label.ValidSecretFiles(right) {
			t.Errorf("%s is refused", right)
		}
	}
	for _, wrong := range []string{"", "secrets", "./secrets", "/", "//", "/run", "/run/pinion", "/run/pinion/mps", "/proc", "/proc/1", "/sys/fs", "/dev", "/dev/shm", "/etc", "/usr", "/a/../proc", "/run/./pinion", "/a//b"} {
		if label.ValidSecretFiles(wrong) {
			t.Errorf("%q is taken", wrong)
		}
	}
}
