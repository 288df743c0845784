package api

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

func ssmClient(server *httptest.Server) *ssm.Client {
	return ssm.New(ssm.Options{BaseEndpoint: aws.String(server.URL), Region: "us-east-2", RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")})
}

func secretsClient(server *httptest.Server) *secretsmanager.Client {
	return secretsmanager.New(secretsmanager.Options{BaseEndpoint: aws.String(server.URL), Region: "us-east-2", RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")})
}

func TestTheSDKForGoKeepsParameters(t *testing.T) {
	onEveryHostWithSecrets(t, theSDKForGoKeepsParameters)
}

func theSDKForGoKeepsParameters(t *testing.T, server *httptest.Server) {
	client, ctx := ssmClient(server), t.Context()
	name, yes := aws.String("/prod/db/password"), aws.Bool(true)
	put := must(client.PutParameter(ctx, &ssm.PutParameterInput{Name: name, Value: aws.String("one"), Type: ssmtypes.ParameterTypeSecureString, AllowedPattern: aws.String(""), Overwrite: aws.Bool(false), Tags: []ssmtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}))(t)
	again := must(client.PutParameter(ctx, &ssm.PutParameterInput{Name: name, Value: aws.String("two"), Overwrite: yes, Tier: ssmtypes.ParameterTierStandard}))(t)
	if put.Version != 1 || again.Version != 2 || again.Tier != ssmtypes.ParameterTierStandard {
		t.Errorf("%+v %+v", put, again)
	}
	read := must(client.GetParameter(ctx, &ssm.GetParameterInput{Name: name, WithDecryption: yes}))(t).Parameter
	if aws.ToString(read.Value) != "two" || aws.ToString(read.ARN) != "arn:aws:ssm:us-east-2:123456789012:parameter/prod/db/password" || read.LastModifiedDate == nil || aws.ToString(read.DataType) != "text" {
		t.Errorf("%+v", read)
	}
	sealed := must(client.GetParameter(ctx, &ssm.GetParameterInput{Name: name}))(t).Parameter
	if aws.ToString(sealed.Value) != "pinion:sealed:/prod/db/password:2" {
		t.Errorf("%s", aws.ToString(sealed.Value))
	}
	labelled := must(client.LabelParameterVersion(ctx, &ssm.LabelParameterVersionInput{Name: name, ParameterVersion: aws.Int64(1), Labels: []string{"stable", "aws-x"}}))(t)
	old := must(client.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(*name + ":stable"), WithDecryption: yes}))(t).Parameter
	if !slices.Equal(labelled.InvalidLabels, []string{"aws-x"}) || aws.ToString(old.Value) != "one" || aws.ToString(old.Selector) != ":stable" {
		t.Errorf("%+v %+v", labelled, old)
	}
	history := must(client.GetParameterHistory(ctx, &ssm.GetParameterHistoryInput{Name: name, WithDecryption: yes}))(t).Parameters
	if len(history) != 2 || aws.ToString(history[0].Value) != "one" || !slices.Equal(history[0].Labels, []string{"stable"}) || aws.ToString(history[1].LastModifiedUser) == "" {
		t.Errorf("%+v", history)
	}
	must(client.UnlabelParameterVersion(ctx, &ssm.UnlabelParameterVersionInput{Name: name, ParameterVersion: aws.Int64(1), Labels: []string{"stable"}}))(t)
	described := must(client.DescribeParameters(ctx, &ssm.DescribeParametersInput{ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: aws.String("Name"), Option: aws.String("Equals"), Values: []string{*name}}}}))(t).Parameters
	if len(described) != 1 || aws.ToString(described[0].KeyId) != "alias/aws/ssm" || described[0].Version != 2 {
		t.Errorf("%+v", described)
	}
	of := aws.String(*name)
	must(client.AddTagsToResource(ctx, &ssm.AddTagsToResourceInput{ResourceType: "Parameter", ResourceId: of, Tags: []ssmtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}))(t)
	must(client.RemoveTagsFromResource(ctx, &ssm.RemoveTagsFromResourceInput{ResourceType: "Parameter", ResourceId: of, TagKeys: []string{"k"}}))(t)
	if tags := must(client.ListTagsForResource(ctx, &ssm.ListTagsForResourceInput{ResourceType: "Parameter", ResourceId: of}))(t).TagList; len(tags) != 1 || *tags[0].Key != "a" {
		t.Errorf("%+v", tags)
	}
	several := must(client.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{*name, "none"}, WithDecryption: yes}))(t)
	if len(several.Parameters) != 1 || !slices.Equal(several.InvalidParameters, []string{"none"}) {
		t.Errorf("%+v", several)
	}
	must(client.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: name}))(t)
	must(client.DeleteParameters(ctx, &ssm.DeleteParametersInput{Names: []string{*name}}))(t)
}

func TestTheSDKForGoKnowsTheErrorsOfParameters(t *testing.T) {
	onEveryHostWithSecrets(t, func(t *testing.T, server *httptest.Server) {
		client, ctx := ssmClient(server), t.Context()
		for n := range 12 {
			must(client.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String(fmt.Sprintf("/app/%d", n)), Value: aws.String("v"), Type: ssmtypes.ParameterTypeString}))(t)
		}
		pages, found := ssm.NewGetParametersByPathPaginator(client, &ssm.GetParametersByPathInput{Path: aws.String("/app"), Recursive: aws.Bool(true)}), 0
		for pages.HasMorePages() {
			found += len(must(pages.NextPage(ctx))(t).Parameters)
		}
		if found != 12 {
			t.Errorf("%d on all pages", found)
		}
		_, err := client.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("none")})
		if _, ok := errors.AsType[*ssmtypes.ParameterNotFound](err); !ok {
			t.Errorf("%v", err)
		}
		_, err = client.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/app/1:7")})
		if _, ok := errors.AsType[*ssmtypes.ParameterVersionNotFound](err); !ok {
			t.Errorf("%v", err)
		}
		_, err = client.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/app/1"), Value: aws.String("v"), Type: ssmtypes.ParameterTypeString})
		if _, ok := errors.AsType[*ssmtypes.ParameterAlreadyExists](err); !ok {
			t.Errorf("%v", err)
		}
		_, err = client.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/app/1"), Value: aws.String("v"), AllowedPattern: aws.String("^x"), Overwrite: aws.Bool(true)})
		if _, ok := errors.AsType[*ssmtypes.ParameterPatternMismatchException](err); !ok {
			t.Errorf("%v", err)
		}
		_, err = client.ListTagsForResource(ctx, &ssm.ListTagsForResourceInput{ResourceType: "Parameter", ResourceId: aws.String("none")})
		if _, ok := errors.AsType[*ssmtypes.InvalidResourceId](err); !ok {
			t.Errorf("%v", err)
		}
	})
}

func TestTheSDKForGoKeepsSecrets(t *testing.T) { onEveryHostWithSecrets(t, theSDKForGoKeepsSecrets) }

func theSDKForGoKeepsSecrets(t *testing.T, server *httptest.Server) {
	client, ctx := secretsClient(server), t.Context()
	made := must(client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: aws.String("prod/db"), Description: aws.String("d"), SecretString: aws.String("one"), Tags: []smtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}))(t)
	id := made.ARN
	put := must(client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: id, SecretBinary: []byte{0, 1, 255}}))(t)
	read := must(client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: id}))(t)
	if string(read.SecretBinary) != "\x00\x01\xff" || read.SecretString != nil || read.CreatedDate == nil || aws.ToString(read.VersionId) != aws.ToString(put.VersionId) || !slices.Equal(put.VersionStages, []string{"AWSCURRENT"}) {
		t.Errorf("%+v", read)
	}
	before := must(client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: id, VersionStage: aws.String("AWSPREVIOUS")}))(t)
	if aws.ToString(before.SecretString) != "one" || aws.ToString(before.VersionId) != aws.ToString(made.VersionId) {
		t.Errorf("%+v", before)
	}
	must(client.UpdateSecretVersionStage(ctx, &secretsmanager.UpdateSecretVersionStageInput{SecretId: id, VersionStage: aws.String("AWSCURRENT"), MoveToVersionId: made.VersionId, RemoveFromVersionId: put.VersionId}))(t)
	must(client.UpdateSecret(ctx, &secretsmanager.UpdateSecretInput{SecretId: id, Description: aws.String("other")}))(t)
	must(client.TagResource(ctx, &secretsmanager.TagResourceInput{SecretId: id, Tags: []smtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}))(t)
	must(client.UntagResource(ctx, &secretsmanager.UntagResourceInput{SecretId: id, TagKeys: []string{"k"}}))(t)
	described := must(client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: id}))(t)
	if stages := described.VersionIdsToStages; aws.ToString(described.Description) != "other" || len(described.Tags) != 1 || len(stages) != 2 || stages[*made.VersionId][0] != "AWSCURRENT" || stages[*put.VersionId][0] != "AWSPREVIOUS" || described.DeletedDate != nil {
		t.Errorf("%+v", described)
	}
	if policy := must(client.GetResourcePolicy(ctx, &secretsmanager.GetResourcePolicyInput{SecretId: id}))(t); policy.ResourcePolicy != nil || aws.ToString(policy.Name) != "prod/db" {
		t.Errorf("%+v", policy)
	}
	versions := must(client.ListSecretVersionIds(ctx, &secretsmanager.ListSecretVersionIdsInput{SecretId: id}))(t)
	listed := must(client.ListSecrets(ctx, &secretsmanager.ListSecretsInput{Filters: []smtypes.Filter{{Key: "name", Values: []string{"prod"}}}}))(t)
	batch := must(client.BatchGetSecretValue(ctx, &secretsmanager.BatchGetSecretValueInput{SecretIdList: []string{"prod/db", "none"}}))(t)
	if len(versions.Versions) != 2 || len(listed.SecretList) != 1 || len(listed.SecretList[0].SecretVersionsToStages) != 2 || len(batch.SecretValues) != 1 || len(batch.Errors) != 1 {
		t.Errorf("%+v %+v %+v", versions, listed, batch)
	}
	password := must(client.GetRandomPassword(ctx, &secretsmanager.GetRandomPasswordInput{PasswordLength: aws.Int64(40)}))(t)
	if len(aws.ToString(password.RandomPassword)) != 40 {
		t.Errorf("%+v", password)
	}
	deleted := must(client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: id}))(t)
	_, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: id})
	if _, ok := errors.AsType[*smtypes.InvalidRequestException](err); !ok || deleted.DeletionDate == nil {
		t.Errorf("%+v %v", deleted, err)
	}
	must(client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: id}))(t)
	must(client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: id}))(t)
	must(client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: id, ForceDeleteWithoutRecovery: aws.Bool(true)}))(t)
	_, err = client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: id})
	if _, ok := errors.AsType[*smtypes.ResourceNotFoundException](err); !ok {
		t.Errorf("%v", err)
	}
	must(client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: aws.String("prod/db")}))(t)
	_, err = client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: aws.String("prod/db")})
	if _, ok := errors.AsType[*smtypes.ResourceExistsException](err); !ok {
		t.Errorf("%v", err)
	}
}

// The AWS CLI and boto3, which send times as the others do and parse more of an answer.
func TestOtherClientsKeepSecrets(t *testing.T) {
	for _, tool := range []string{"aws", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not on this machine: this test says nothing")
		}
	}
	onEveryHostWithSecrets(t, func(t *testing.T, server *httptest.Server) {
		out, err := shell(t, server, `set -e
export AWS_ENDPOINT_URL_SSM=$AWS_ENDPOINT_URL_ECS AWS_ENDPOINT_URL_SECRETS_MANAGER=$AWS_ENDPOINT_URL_ECS
aws ssm put-parameter --name /app/x --type SecureString --value one --query Version
aws ssm get-parameter --name /app/x --with-decryption --query Parameter.Value --output text
aws ssm get-parameters-by-path --path / --recursive --query 'Parameters[].Name' --output text
aws secretsmanager create-secret --name db --secret-string '{"password":"p"}' --query Name --output text
aws secretsmanager get-secret-value --secret-id db --query SecretString --output text
aws secretsmanager get-secret-value --secret-id none 2>&1 | grep -o ResourceNotFoundException
python3 - <<'PY'
import boto3
sm, ssm = boto3.client('secretsmanager'), boto3.client('ssm')
sm.put_secret_value(SecretId='db', SecretBinary=b'\x00\xff')
print(sm.get_secret_value(SecretId='db')['SecretBinary'], sm.describe_secret(SecretId='db')['CreatedDate'].year > 2000)
print([p['Name'] for page in ssm.get_paginator('describe_parameters').paginate() for p in page['Parameters']])
try: ssm.get_parameter(Name='none')
except ssm.exceptions.ParameterNotFound: print('not found')
sm.delete_secret(SecretId='db', ForceDeleteWithoutRecovery=True)
print(sm.list_secrets()['SecretList'])
PY`)
		want := "1\none\n/app/x\ndb\n{\"password\":\"p\"}\nResourceNotFoundException\nb'\\x00\\xff' True\n['/app/x']\nnot found\n[]\n"
		if err != nil || !strings.HasSuffix(out, want) {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
