# A cluster and a task definition with what Terraform compares most closely. The variable is what changes.

terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "endpoint" { type = string }
variable "team" { type = string }

provider "aws" {
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true
  endpoints { ecs = var.endpoint }
}

resource "aws_ecs_cluster" "lab" {
  name = "terraform"
  tags = { team = var.team }

  setting {
    name  = "containerInsights"
    value = var.team == "vision" ? "enabled" : "disabled"
  }
}

resource "aws_ecs_task_definition" "train" {
  family       = "terraform-train"
  network_mode = "bridge"
  cpu          = "1024"
  memory       = "2048"
  tags         = { team = var.team }

  container_definitions = jsonencode([
    {
      name         = "train"
      image        = "pinion/self"
      cpu          = 512
      memory       = 1024
      essential    = true
      command      = ["/pinion", "gpus", "--container"]
      environment  = [{ name = "TEAM", value = var.team }, { name = "A", value = "1" }]
      portMappings = [{ containerPort = 6006 }]
      mountPoints  = [{ sourceVolume = "data", containerPath = "/data", readOnly = true }]
      resourceRequirements = [{ type = "GPU", value = "2" }]
      logConfiguration     = { logDriver = "awslogs", options = { awslogs-group = "train", awslogs-region = "us-east-1", awslogs-stream-prefix = "t" } }
    },
    {
      name        = "watch"
      image       = "pinion/self"
      memory      = 64
      essential   = false
      command     = ["/pinion", "pause"]
      healthCheck = { command = ["CMD", "/pinion", "version"] }
      dependsOn   = [{ containerName = "train", condition = "START" }]
    },
  ])

  volume {
    name      = "data"
    host_path = "/srv/data"
  }

  placement_constraints {
    type       = "memberOf"
    expression = "attribute:rack == r1"
  }
}
