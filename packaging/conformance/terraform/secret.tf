# A parameter, a secret with versions, and a task definition that uses them.

resource "aws_ssm_parameter" "token" {
  name        = "/terraform/token"
  description = "for tasks of ${var.team}"
  type        = "SecureString"
  value       = "token of ${var.team}"
  tags        = { team = var.team }
}

resource "aws_ssm_parameter" "endpoints" {
  name  = "terraform-endpoints"
  type  = "StringList"
  value = "a,b"
}

resource "aws_secretsmanager_secret" "database" {
  name                    = "terraform/database"
  description             = "for tasks of ${var.team}"
  recovery_window_in_days = 0
  tags                    = { team = var.team }
}

resource "aws_secretsmanager_secret_version" "database" {
  secret_id     = aws_secretsmanager_secret.database.id
  secret_string = jsonencode({ user = var.team, password = "password of ${var.team}" })
}

data "aws_secretsmanager_secret_version" "database" {
  secret_id  = aws_secretsmanager_secret.database.id
  depends_on = [aws_secretsmanager_secret_version.database]
}

output "database_user" {
  value     = jsondecode(data.aws_secretsmanager_secret_version.database.secret_string).user
  sensitive = true
}

resource "aws_ecs_task_definition" "secrets" {
  family       = "terraform-secrets"
  network_mode = "none"
  container_definitions = jsonencode([{
    name   = "main"
    image  = "busybox"
    memory = 64
    secrets = [
      { name = "TOKEN", valueFrom = aws_ssm_parameter.token.arn },
      { name = "PASSWORD", valueFrom = "${aws_secretsmanager_secret.database.arn}:password::" },
    ]
  }])
}
