package cli

import "testing"

func TestQuotasAreSetListedAndRemoved(t *testing.T) {
	d := openDoor(t)
	d.operations["admin/teams"] = always(`{"name":"vision","gpus":16,"weight":2,"gpusInUse":20}`)
	d.operations["admin/teams/remove"] = always("{}")
	d.documents["/v1/teams"] = page(`[{"name":"","weight":1,"gpusInUse":3},{"name":"vision","gpus":16,"weight":2,"gpusInUse":20}]`)
	same(t, "quota set", pinion(t, d, "quota", "set", "--gpus", "16", "--weight", "2", "vision").out, `
TEAM    GPUS  WEIGHT  IN USE
vision  16    2       20
`[1:])
	same(t, "asked", d.sent["admin/teams"], `{"gpus":16,"name":"vision","weight":2}`)
	pinion(t, d, "quota", "set", "--gpus", "0", "vision")
	same(t, "asked for what is given alone", d.sent["admin/teams"], `{"gpus":0,"name":"vision"}`)
	same(t, "quota ls", pinion(t, d, "quota", "ls").out, `
TEAM    GPUS  WEIGHT  IN USE
""      none  1       3
vision  16    2       20
`[1:])
	same(t, "quota rm", pinion(t, d, "quota", "rm", "vision", "speech").out, "vision\nspeech\n")
	same(t, "asked", d.sent["admin/teams/remove"], `{"name":"speech"}`)
}

func TestAQuotaThatCannotBeIsRefusedAtOnce(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"vision"}, "pinion: give --gpus, --weight or both; see pinion quota set --help\n"},
		{[]string{"--gpus", "-1", "vision"}, "pinion: --gpus -1: a quota is 0 GPUs or more\n"},
		{[]string{"--weight", "1001", "vision"}, "pinion: --weight 1001: a weight is 1 to 1000\n"},
	} {
		d := openDoor(t)
		got := pinion(t, d, append([]string{"quota", "set"}, c.arguments...)...)
		same(t, "stderr", got.err, c.want)
		if got.code != exitUsage || len(d.asked) != 0 {
			t.Errorf("%v: exit code %d, asked %q", c.arguments, got.code, d.asked)
		}
	}
}
