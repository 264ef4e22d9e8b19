"""Your prompt: the judge's prompt as it is sent today, taken apart, proved, tried and measured."""

from dataclasses import replace

from rubriclab.app import ui
from rubriclab.app.forms import prompt as forms
from rubriclab.app.forms import prompt_answers as answers
from rubriclab.app.views import prompt as views
from rubriclab.model.language import msg

LEAD = msg(
    "Your judge is your prompt. Paste it as you send it today: the lab finds the list whose order "
    "can change, proves that nothing else changes with it, and measures what the order does to your "
    "judge's scores."
)

with ui.page("prompt", msg("Your prompt"), LEAD):
    if not answers.going():
        draft = forms.prompt_step()
        if draft is not None:
            judge = forms.judge_step()
            with ui.faults():
                if views.two_orders(forms.study_of(draft, judge)):
                    rule = answers.workbench(draft, judge)
                    answers.launch(replace(draft, template=replace(draft.template, answer=rule)), judge)
