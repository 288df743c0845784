package ecs

import (
	"strings"
	"testing"
)

func TestAccountSettings(t *testing.T) {
	b := newFixture(t)
	step := func(name, operation, body string) {
		t.Helper()
		b.must(t, operation, body).golden(t, name)
	}
	me := `"principalArn":"arn:aws:iam::123456789012:user/` + keyID + `"`
	step("account-settings-none", "ListAccountSettings", `{}`)
	step("put-account-setting-default", "PutAccountSettingDefault", `{"name":"containerInsights","value":"enabled"}`)
	step("put-account-setting", "PutAccountSetting", `{"name":"awsvpcTrunking","value":"enabled",`+me+`}`)
	step("account-settings", "ListAccountSettings", `{`+me+`}`)
	step("account-settings-effective", "ListAccountSettings", `{"effectiveSettings":true,"maxResults":10,`+me+`}`)
	step("delete-account-setting", "DeleteAccountSetting", `{"name":"awsvpcTrunking",`+me+`}`)
	if got := b.must(t, "ListAccountSettings", `{`+me+`}`).Body.String(); got != `{"settings":[]}` {
		t.Errorf("it is still there: %s", got)
	}
}

func TestAccountSettingsArePagedByTen(t *testing.T) {
	b := newFixture(t)
	var page struct {
		Settings  []struct{ Name string }
		NextToken string
	}
	b.must(t, "ListAccountSettings", `{"effectiveSettings":true}`).decode(t, &page)
	if len(page.Settings) != 10 || page.NextToken == "" {
		t.Fatalf("%+v", page)
	}
	rest := b.must(t, "ListAccountSettings", `{"effectiveSettings":true,"nextToken":"`+page.NextToken+`"}`).Body.String()
	if !strings.Contains(rest, "taskLongArnFormat") || strings.Contains(rest, "nextToken") {
		t.Errorf("%s", rest)
	}
	b.call("ListAccountSettings", `{"maxResults":11}`).wantError(t, invalid, "maxResults must be between 1 and 10, not 11")
}

func TestNewClustersStartWithTheAccountsInsights(t *testing.T) {
	b := newFixture(t)
	b.must(t, "PutAccountSettingDefault", `{"name":"containerInsights","value":"enhanced"}`)
	if got := b.must(t, "CreateCluster", `{"clusterName":"lab"}`).Body.String(); !strings.Contains(got, `{"name":"containerInsights","value":"enhanced"}`) {
		t.Errorf("%s", got)
	}
}

func TestWhatCannotBeSetForAnAccount(t *testing.T) {
	b := newFixture(t)
	for body, message := range map[string]string{
		`{"name":"taskLongArnFormat","value":"disabled"}`: "You can no longer disable taskLongArnFormat: the long format of ARNs is the only one.",
		`{"name":"awsvpcTrunking","value":"maybe"}`:       `value of awsvpcTrunking must hold only disabled, enabled, not "maybe"`,
		`{"name":"guardDutyActivate","value":"on"}`:       "guardDutyActivate cannot be set: it is read only.",
		`{"name":"color","value":"red"}`: "name must be one of awsvpcTrunking, containerInsights, containerInstanceLongArnFormat, defaultLogDriverMode, fargateEventWindows, " +
			"fargateFIPSMode, fargateTaskRetirementWaitPeriod, guardDutyActivate, serviceLongArnFormat, tagResourceAuthorization, taskLongArnFormat, not \"color\"",
	} {
		b.call("PutAccountSetting", body).wantError(t, invalid, message)
		b.call("PutAccountSettingDefault", body).wantError(t, invalid, message)
	}
	b.call("PutAccountSetting", `{"name":"awsvpcTrunking","value":"enabled","principalArn":"me"}`).wantError(t, invalid,
		"principalArn me is not the ARN of an access key of this account, arn:aws:iam::123456789012:user/KEYID, nor that of the account, arn:aws:iam::123456789012:root.")
	b.must(t, "PutAccountSetting", `{"name":"taskLongArnFormat","value":"enabled"}`)
}
