"""Load and check the skills in skills/<category>/<name>/.

A skill is text that is put before a coding model's prompt, so it is checked as data from a stranger:
nothing in it is executed, and characters that a reader cannot see are refused.
"""

from bundler.skills.check import Checked, check_paths, check_skill, check_skills, load_skill
from bundler.skills.problem import Problem, Rule
from bundler.skills.types import Frontmatter, Metadata, Skill, skill_schema

__all__ = [
    "Checked",
    "Frontmatter",
    "Metadata",
    "Problem",
    "Rule",
    "Skill",
    "check_paths",
    "check_skill",
    "check_skills",
    "load_skill",
    "skill_schema",
]
